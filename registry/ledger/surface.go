package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A Tool is what a server says of one of its tools.
type Tool struct {
	Name         string          // at its server
	Title        string          // may be empty
	Description  string          // may be empty
	InputSchema  json.RawMessage // of the arguments
	OutputSchema json.RawMessage // of structured results; nil if there is none
	Annotations  json.RawMessage // nil if there are none
}

// A Surface is everything that a server says of a tool, or of its use, in canonical
// form.
type Surface struct {
	Tool string // name of the tool at its server; empty for instructions
	Hash string // "sha256:" and hexadecimal digits, of the canonical JSON
	said *Tool
	text []byte // canonical JSON of what is no tool; nil: said has it
}

// NewSurface returns the surface of a server's tool, which it keeps.
func NewSurface(tool *Tool) *Surface {
	tool = cmp.Or(tool, new(Tool))
	return &Surface{Tool: tool.Name, Hash: hashOf(canonicalSurface(tool)), said: tool}
}

// NewManifest returns the surface of something else that a server has, such as a skill: its name, and
// a JSON object that says all of it which is accepted.
func NewManifest(name string, manifest json.RawMessage) *Surface {
	text := append(appendSurfaceText(appendSurfaceJSON(nil, "manifest", manifest), "name", name), '}')
	return &Surface{Tool: name, Hash: hashOf(text), text: text}
}

// canonical returns the JSON that is hashed.
func (s *Surface) canonical() []byte {
	switch {
	case s.text != nil:
		return s.text
	case s.said == nil: // made without NewSurface
		return []byte("{}")
	}
	return canonicalSurface(s.said)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonicalSurface returns a tool as its server describes it, as canonical JSON.
// Absent and empty values are the same: a title without characters, annotations without
// members. A value that is no JSON, which only comes from tools that are made here, is
// kept as text.
func canonicalSurface(tool *Tool) []byte {
	out := make([]byte, 0, 128+len(tool.Description)+len(tool.InputSchema)+len(tool.OutputSchema))
	out = appendSurfaceJSON(out, "annotations", nonEmpty(tool.Annotations))
	out = appendSurfaceText(out, "description", tool.Description)
	out = appendSurfaceJSON(out, "inputSchema", tool.InputSchema)
	out = appendSurfaceText(out, "name", tool.Name)
	out = appendSurfaceJSON(out, "outputSchema", tool.OutputSchema)
	out = appendSurfaceText(out, "title", tool.Title)
	if len(out) == 0 {
		return []byte("{}")
	}
	return append(out, '}')
}

// appendSurfaceKey begins a member. Members come in the order of their keys.
func appendSurfaceKey(dst []byte, key string) []byte {
	if len(dst) == 0 {
		dst = append(dst, '{')
	} else {
		dst = append(dst, ',')
	}
	dst = canonjson.AppendString(dst, key)
	return append(dst, ':')
}

func appendSurfaceText(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return canonjson.AppendString(appendSurfaceKey(dst, key), text)
}

// surfaceDepth is how deep what a surface holds is nested. The ledger's file, of
// which it is a part, has to stay readable.
const surfaceDepth = 100

func appendSurfaceJSON(dst []byte, key string, value json.RawMessage) []byte {
	if len(value) == 0 {
		return dst
	}
	out, err := canonjson.Append(appendSurfaceKey(dst, key), value)
	if err != nil || jsonscan.Nesting(out[len(dst):]) > surfaceDepth+1 {
		return appendSurfaceText(dst, key+"Text", string(value))
	}
	return out
}

// nonEmpty returns annotations, or nil if they say nothing.
func nonEmpty(annotations json.RawMessage) json.RawMessage {
	switch string(bytes.Join(bytes.Fields(annotations), nil)) {
	case "null", "{}":
		return nil
	}
	return annotations
}
