package registry

import (
	"encoding/json"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// texts goes through all that a server says of a tool, each byte once.
type texts struct {
	// visit is shown each text and where it is, as a JSON pointer that is only valid
	// during the call, and cut off if it is long. key says that the text is the name
	// of a member there.
	visit func(path []byte, text string, key bool)

	path []byte
}

// outside visits the texts beside the name and the schemas.
func (t *texts) outside(tool *gateTool) {
	t.text("/title", tool.Title)
	t.text("/description", tool.Description)
	if len(tool.Annotations) > 0 && jsonscan.Valid(tool.Annotations) == nil {
		t.document("/annotations", tool.Annotations)
	}
}

func (t *texts) text(field, text string) {
	if text != "" {
		t.visit([]byte(field), text, false)
	}
}

// document visits all keys and strings of JSON that is known to be valid.
func (t *texts) document(field string, raw json.RawMessage) {
	t.path = append(t.path[:0], field...)
	c := jsonscan.Walk(raw)
	t.value(&c)
}

func (t *texts) value(c *jsonscan.Cursor) {
	switch c.Kind() {
	case '{':
		for key := range c.Members() {
			length := len(t.path)
			t.path = appendToken(t.path, key)
			t.visit(t.path, string(key), true)
			t.value(c)
			t.path = t.path[:length]
		}
	case '[':
		for i := range c.Elements() {
			length := len(t.path)
			if len(t.path) < maxPath {
				t.path = strconv.AppendInt(append(t.path, '/'), int64(i), 10)
			}
			t.value(c)
			t.path = t.path[:length]
		}
	case '"':
		if text, ok := jsonscan.String(c.Value()); ok && text != "" {
			t.visit(t.path, text, false)
		}
	default:
		c.Skip()
	}
}

// maxPath is where a JSON pointer is cut off. Long names of members would make the
// places of the texts below them as large as the square of a schema.
const maxPath = maxField + 16

// appendToken appends a token to a JSON pointer.
func appendToken(path, token []byte) []byte {
	if len(path) >= maxPath {
		return path
	}
	path = append(path, '/')
	for _, c := range token {
		if len(path) >= maxPath {
			break
		}
		switch c {
		case '~':
			path = append(path, "~0"...)
		case '/':
			path = append(path, "~1"...)
		default:
			path = append(path, c)
		}
	}
	return path
}
