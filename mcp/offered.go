package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// refusesForGood reports whether a server says that it does not do that.
func refusesForGood(err error) bool {
	answer, _ := answerIn(err)
	return answer == nil || answer.Code == jsonrpc.CodeMethodNotFound || answer.Code == jsonrpc.CodeInvalidParams || answer.Code == jsonrpc.CodeInvalidRequest
}

// refusedByStatus reports whether the HTTP status of an answer is one by which a server turns
// away what it does not understand.
func refusedByStatus(err error) bool {
	var status interface{ Refused() bool }
	return errors.As(err, &status) && status.Refused()
}

// codeServerError is the code with which many servers say that there is no session,
// and anything else.
const codeServerError = -32000

// refusesHandshake reports whether a server has refused to initialize as one does
// that does not know what that is.
func refusesHandshake(err error) bool {
	switch codeOf(err) {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest,
		sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities, sdk.CodeUnsupportedProtocolVersion:
		return true
	}
	return refusedByStatus(err)
}

// lacks reports whether a member of an object is a list of revisions without the
// given one.
func lacks(object []byte, member, version string) bool {
	versions, ok := versionsIn(object, member)
	return ok && !slices.Contains(versions, version)
}

// modernRefusal returns the error for a server whose answer to the probe is one
// that only stateless revisions know, and names no older revision that the
// server supports; else nil.
func modernRefusal(version string, err error) error {
	_, versions := answerIn(err)
	older := slices.ContainsFunc(versions, func(v string) bool { return !protocol.IsStateless(v) && protocol.IsKnown(v) })
	switch code := codeOf(err); {
	case code == sdk.CodeHeaderMismatch, code == sdk.CodeMissingRequiredClientCapabilities, code == sdk.CodeUnsupportedProtocolVersion && !older:
		return WithOutcome(fmt.Errorf("the server refuses revision %s: %w", version, err), NotSent)
	}
	return nil
}

// offeredRevision returns the newest stateless revision that a refusal of the revision of discover
// says the server supports, or "".
func offeredRevision(err error) string {
	_, versions := answerIn(err)
	if codeOf(err) != sdk.CodeUnsupportedProtocolVersion {
		return ""
	}
	return protocol.NewestStateless(versions)
}

// discoveredRevision is the revision of a server that has answered discover.
func discoveredRevision(result []byte) string {
	versions, _ := versionsIn(result, "supportedVersions")
	return cmp.Or(protocol.NewestStateless(versions), protocol.Newest())
}

// answerIn returns the error with which a server answered, and the revisions that it says
// to support; nil if there is none.
func answerIn(err error) (answer *JSONRPCError, supported []string) {
	if errors.As(err, &answer) {
		for _, member := range []string{"supported", "supportedVersions"} {
			if versions, ok := versionsIn(answer.Data, member); ok {
				supported = versions
			}
		}
	}
	return answer, supported
}

// otherRevision returns the revision to offer to a server that has refused, with err, to
// initialize with the given one: the newest of those that the refusal names, or else the next
// older one if the refusal is about the revision. It is empty if there is nothing to offer.
func otherRevision(err error, refused string) string {
	var body interface{ Text() string }
	text, refuses := "", false
	if answer, _ := answerIn(err); answer != nil {
		text = answer.Message + string(answer.Data)
		refuses = answer.Code == jsonrpc.CodeInvalidParams
	} else if errors.As(err, &body) {
		text = body.Text()
	}
	refuses = refuses || codeOf(err) != sdk.CodeUnsupportedProtocolVersion && strings.Contains(strings.ToLower(text), "version")
	older := ""
	for _, known := range protocol.Versions() {
		switch {
		case protocol.IsStateless(known) || known == refused:
		case strings.Contains(text, known):
			return known
		case refuses && older == "" && known < refused:
			older = known
		}
	}
	return older
}

// codeOf returns the code of the error with which a server answered, or 0, which is none.
func codeOf(err error) int64 {
	if answer, _ := answerIn(err); answer != nil {
		return answer.Code
	}
	return 0
}

// discoveredNone returns the error for a server whose answer to the probe lists
// revisions, none of which is known; else nil.
func discoveredNone(result []byte) error {
	versions, _ := versionsIn(result, "supportedVersions")
	if len(versions) == 0 || slices.ContainsFunc(versions, protocol.IsKnown) {
		return nil
	}
	return WithOutcome(fmt.Errorf("no known revision of the protocol: the server has %s", namesOf(versions)), NotSent)
}

// withRevisions adds to the error of a handshake which revisions the server says that
// it has.
func withRevisions(err error) error {
	if _, versions := answerIn(err); len(versions) > 0 {
		return fmt.Errorf("%w: the server has %s", err, namesOf(versions))
	}
	return err
}

// versionsIn returns the list of revisions that is a member of an object, and
// whether there is one.
func versionsIn(object []byte, member string) (versions []string, ok bool) {
	if jsonscan.Valid(object) != nil {
		return nil, false
	}
	list := jsonscan.Member(object, member)
	for element := range jsonscan.Elements(list) {
		if version, ok := jsonscan.String(element); ok {
			versions = append(versions, version)
		}
	}
	return versions, len(list) > 0 && list[0] == '['
}
