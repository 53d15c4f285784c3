package mcp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// An era is what a client has learned about the revisions that its server
// speaks. It belongs to the supervisor.
type era struct {
	// legacy is set once the server has shown that it wants the initialize
	// handshake; it is then spared the probe.
	legacy bool
	// suspect is set when a connection died of the probe, or never answered
	// it: the next attempt does without.
	suspect bool
	// patient is set when the server answered the probe after its time: the
	// next attempts wait for it as long as there is time at all.
	patient bool
}

// version returns the revision with which to begin the next attempt.
func (e *era) version() string {
	if e.legacy || e.suspect {
		return Revision20251125
	}
	return Revision20260728
}

// succeeded learns from a handshake that ended with the given revision.
func (e *era) succeeded(version string) {
	legacy := version < Revision20260728
	*e = era{legacy: legacy, patient: e.patient && !legacy}
}

// forget is for a server that was replaced by another one.
func (e *era) forget() { *e = era{} }

// failed learns from a handshake that was begun with the given revision and failed
// with err. It reports whether another attempt makes sense at once, on a new
// connection: without the probe, or with it if a server that was initialized
// before does not know that any more.
func (e *era) failed(begunWith string, t *tap, err error) (again bool) {
	if begunWith != Revision20260728 {
		replaced := e.legacy && refusesHandshake(err)
		e.forget() // whatever was known does not hold any more
		return replaced
	}
	probed, late := t.probed()
	e.patient = late
	e.suspect = probed && !late
	return e.suspect
}

// modernRefusal returns the error for a server whose answer to the probe is one
// that only revision 2026-07-28 knows, and names no older revision that the
// server supports; else nil.
func modernRefusal(err error) error {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return nil
	}
	switch answer.Code {
	case sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities:
	case sdk.CodeUnsupportedProtocolVersion:
		if supportsOlder(answer.Data) {
			return nil
		}
	default:
		return nil
	}
	return WithOutcome(fmt.Errorf("the server refuses revision %s: %w", Revision20260728, err), NotSent)
}

// supportsOlder reports whether the data of an error about the version lists one
// with the initialize handshake.
func supportsOlder(data []byte) bool {
	if jsonscan.Valid(data) != nil {
		return false
	}
	known := sdk.SupportedProtocolVersions()
	for key, value := range jsonscan.Fields(data) {
		if string(key) != "supported" {
			continue
		}
		for element := range jsonscan.Elements(value) {
			version, ok := jsonscan.String(element)
			if ok && version < Revision20260728 && slices.Contains(known, version) {
				return true
			}
		}
	}
	return false
}
