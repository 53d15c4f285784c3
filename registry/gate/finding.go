package gate

import (
	"cmp"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Severity says what becomes of a tool because of a [Finding].
type Severity int

// The severities, from the mildest.
const (
	// Note: the tool is listed, and the finding is kept with it.
	Note Severity = iota
	// Warn: the tool is listed, and a person should look at it.
	Warn
	// Block: the tool is not listed.
	Block
)

// String returns "note", "warn" or "block".
func (s Severity) String() string {
	return cmp.Or(map[Severity]string{Note: "note", Warn: "warn", Block: "block"}[s], fmt.Sprintf("Severity(%d)", int(s)))
}

// MarshalText returns what String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

const (
	// What is too much is blocked: 5,000 tools of a server, 32 MiB of them, names of 128 bytes,
	// and texts of 16 KiB.
	tokenTooManyTools    = "too_many_tools"
	tokenCatalogTooLarge = "catalog_too_large"
	tokenNameTooLong     = "name_too_long"
	tokenTextTooLong     = "text_too_long"

	// tokenInvalidName: the name has characters that the protocol advises against: a
	// note, or a warning if they are not ASCII. An empty name, or one that is not
	// UTF-8, is blocked.
	tokenInvalidName = "invalid_name"
	// tokenConfusableName: the name looks like that of a tool that the same server
	// lists before it. A warning.
	tokenConfusableName = "confusable_name"
	// tokenStuffed: a sentence stands three times or more in one text, to be found by. A warning.
	tokenStuffed = "stuffed"
	// tokenOldSchema: a schema has keywords of draft 4 of JSON Schema, as OpenAPI 3.0 does,
	// such as "exclusiveMinimum": true. A note: models and validators get it with the keywords
	// of today.
	tokenOldSchema = "old_schema"
	// tokenFlawedSchema: a schema has a keyword that is null, or another flaw that changes nothing
	// of what it asks. A note: models and validators get it without.
	tokenFlawedSchema = "flawed_schema"
	// tokenBrokenText: a text has U+FFFD in the place of a character that could not be read. A note.
	tokenBrokenText = "broken_text"
)

// The tokens of texts with characters that people do not see. All strings of a
// tool are texts: names of properties, enums and defaults, too.
const (
	// tokenANSIEscape: a terminal would obey it. Blocked.
	tokenANSIEscape = "ansi_escape"
	// tokenControlCharacters: other control characters than tab and line ends, such as
	// a carriage return without a line feed.
	// Blocked; a warning for those of C1, which come of a broken encoding.
	tokenControlCharacters = "control_characters"
	// tokenTagCharacters: letters that only models see. Blocked.
	tokenTagCharacters = "tag_characters"
	// tokenBidiCharacters: the direction of writing is overridden, so that a text
	// reads as another. Blocked.
	tokenBidiCharacters = "bidi_characters"
	// tokenHiddenCharacters: other characters that take no room, where no script and
	// no emoji needs them. A warning by default, blocked if they can hold a message.
	tokenHiddenCharacters = "hidden_characters"
)

// The tokens of texts that speak to the model. They are heuristics: silence proves
// nothing, and honest tools are met at times. Warnings.
const (
	// tokenInstructionLikeText: a text urges the model to act against its user. A
	// note if it only asks to be called before others.
	tokenInstructionLikeText = "instruction_like_text"
	// tokenEncodedPayload: base64 or hexadecimal digits that, decoded, do so.
	tokenEncodedPayload = "encoded_payload"
	// tokenCrossServerReference: a text speaks of another server, or of its tools.
	tokenCrossServerReference = "cross_server_reference"
)

// A Finding is something that the gate saw in a tool of a server. Of one tool at
// most 16 are kept, the severest, and of one token four, so that no kind can hide
// another.
//
// Token names the kind. Tokens are stable: they may be stored and compared.
// Those of tools that cannot be used, which are always blocked, are "unreadable" (the server
// lists it in a form that is no tool, or breaks the rules for JSON), "too_deep" (its schema is
// nested deeper than 64 levels), "invalid_schema" (it is not JSON, not an object, or no schema of
// its dialect), "schema_cycle" (it refers to itself for one and the same value), "remote_ref"
// (a reference leads to a file or an address), "dynamic_ref", "unresolved_ref" (a reference leads
// to nothing), "dialect" (one that is not supported), "pattern" (a regular expression that is too
// large, or none of RE2), "too_large" (256 KiB), "too_many_nodes" (8,192 JSON values) and
// "too_complex" (written out, with all references, it is too large). An output schema like that is
// a warning: the tool is listed without it.
type Finding struct {
	Token    string   `json:"token"`    // what it is
	Severity Severity `json:"severity"` // what becomes of the tool
	// Field is where it is: a JSON pointer into the tool as its server sent it,
	// such as "/inputSchema/properties/path/description". Empty: the whole tool.
	// It is cut off if it is long, and safe to print.
	Field string `json:"field,omitempty"`
	// Evidence is what was seen, cut off if it is long, with everything made
	// visible that could deceive a reader.
	Evidence string `json:"evidence,omitempty"`
	// Detail says in plain words what is wrong.
	Detail string `json:"detail"`
}

// String returns the finding on one line that is safe to print.
func (f Finding) String() string {
	text := fmt.Sprintf("%v %s at %s: %s", f.Severity, f.Token, cmp.Or(f.Field, "the tool"), f.Detail)
	if f.Evidence != "" {
		text += " (" + f.Evidence + ")"
	}
	return text
}

// An Error reports a tool of a server that the gate does not let into the
// catalogue. Other tools of the server are not affected.
//
//cure:tell the author of the server; the findings in it say what is wrong
type Error struct {
	Server   string    // configured name of the server
	Tool     string    // name of the tool there
	Findings []Finding // what was found, the severest first
}

// Error names the server, the tool and the severest finding.
func (e *Error) Error() string {
	text := fmt.Sprintf("gate: tool %s of server %s is blocked", plain.Quote(e.Tool), plain.Quote(e.Server))
	if len(e.Findings) > 0 {
		text += ": " + e.Findings[0].String()
	}
	if n := len(e.Findings); n > 1 {
		text += fmt.Sprintf(", and %d more findings", n-1)
	}
	return text
}
