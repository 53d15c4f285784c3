package result

import (
	"crypto/rand"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An envelope is what encloses the content of one result of a server that is not
// trusted. A nil envelope encloses nothing and takes no room.
type envelope struct{ begin, end string }

// newEnvelope returns an envelope with a new random nonce.
func newEnvelope(from From) *envelope {
	nonce := rand.Text()
	return &envelope{
		begin: `<untrusted-content nonce="` + nonce + `" server="` + attribute(from.Server) + `" tool="` + attribute(from.Tool) + `">`,
		end:   `</untrusted-content nonce="` + nonce + `">`,
	}
}

// attribute returns a name as it may stand between quotes, and short.
func attribute(name string) string {
	return plain.Cut(strings.NewReplacer(`"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(plain.Line(name)), 100)
}

// size returns the room that the envelope takes in a text.
func (e *envelope) size() int {
	if e == nil {
		return 0
	}
	return len(e.begin) + len(e.end) + 2
}

// wrap returns the content within the envelope.
func (e *envelope) wrap(content []mcp.Content) []mcp.Content {
	if e == nil {
		return content
	}
	wrapped := make([]mcp.Content, 0, len(content)+2)
	wrapped = append(wrapped, &mcp.TextContent{Text: e.begin})
	wrapped = append(wrapped, content...)
	return append(wrapped, &mcp.TextContent{Text: e.end})
}

// marks are what looks like the lines of an envelope.
var marks = regexp.MustCompile(`(?i)<([\s/\\]*untrusted[-_\s]*content)`)

// Unmark returns res with all that looks like the lines of an envelope made
// harmless. JSON stays the same value.
func unmark(res *mcp.CallToolResult) *mcp.CallToolResult {
	res = mapTexts(res, func(text string) string {
		return marks.ReplaceAllString(text, "&lt;$1")
	})
	return mapStructured(res, func(raw json.RawMessage) json.RawMessage {
		if !marks.Match(raw) {
			return raw
		}
		return marks.ReplaceAll(raw, []byte(`\u003c$1`))
	})
}
