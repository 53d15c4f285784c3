package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
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
	// shared is what all clients of the server know of legacy; nil: there are no others.
	shared *atomic.Bool
}

// newEra returns what is known before the first connection.
func newEra(shared *atomic.Bool) *era {
	return &era{legacy: shared != nil && shared.Load(), shared: shared}
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
	*e = era{legacy: legacy, patient: e.patient && !legacy, shared: e.shared}
	e.share()
}

// share tells the other clients.
func (e *era) share() {
	if e.shared != nil {
		e.shared.Store(e.legacy)
	}
}

// forget is for a server that was replaced by another one.
func (e *era) forget() {
	*e = era{shared: e.shared}
	e.share()
}

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
	e.patient = t.late
	e.suspect = t.unanswered && !t.late
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

// offersRevision reports whether err refuses the revision of discover, and says that
// the server supports it.
func offersRevision(err error) bool {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) || answer.Code != sdk.CodeUnsupportedProtocolVersion {
		return false
	}
	versions, _ := versionsIn(answer.Data, "supported")
	return slices.Contains(versions, Revision20260728)
}

// supportsOlder reports whether the data of an error about the version lists one
// with the initialize handshake.
func supportsOlder(data []byte) bool {
	versions, _ := versionsIn(data, "supported")
	return slices.ContainsFunc(versions, func(version string) bool { return version < Revision20260728 && isKnown(version) })
}

func isKnown(version string) bool { return slices.Contains(sdk.SupportedProtocolVersions(), version) }

// discoveredNone returns the error for a server whose answer to the probe lists
// revisions, none of which is known; else nil.
func discoveredNone(result []byte) error {
	versions, _ := versionsIn(result, "supportedVersions")
	if len(versions) == 0 || slices.ContainsFunc(versions, isKnown) {
		return nil
	}
	return WithOutcome(fmt.Errorf("no known revision of the protocol: the server has %s", namesOf(versions)), NotSent)
}

// withRevisions adds to the error of a handshake which revisions the server says that
// it has.
func withRevisions(err error) error {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return err
	}
	versions, _ := versionsIn(answer.Data, "supported")
	if len(versions) == 0 {
		return err
	}
	return fmt.Errorf("%w: the server has %s", err, namesOf(versions))
}

// namesOf names revisions in a text that is short and safe to print.
func namesOf(versions []string) string {
	const most, size = 8, 32
	var names []string
	for i, version := range versions {
		if i == most {
			names = append(names, "and more")
			break
		}
		if len(version) > size {
			version = version[:size] + "..."
		}
		names = append(names, plain.Line(version))
	}
	return strings.Join(names, ", ")
}

// versionsIn returns the list of revisions that is a member of an object, and
// whether there is one.
func versionsIn(object []byte, member string) (versions []string, ok bool) {
	if jsonscan.Valid(object) != nil {
		return nil, false
	}
	for key, value := range jsonscan.Fields(object) {
		if string(key) != member {
			continue
		}
		for element := range jsonscan.Elements(value) {
			if version, ok := jsonscan.String(element); ok {
				versions = append(versions, version)
			}
		}
		return versions, value[0] == '['
	}
	return nil, false
}
