package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A surface is everything that a server says of a tool, in canonical form.
type surface struct {
	hash string // "sha256:" and hexadecimal digits
	def  *Definition
	text []byte // canonical JSON of what is no tool; nil: def has it
}

// surfaceOf returns the surface of a server's tool.
func surfaceOf(def *Definition) *surface {
	return &surface{hash: hashOf(canonicalSurface(def)), def: def}
}

// canonical returns the JSON that is hashed.
func (s *surface) canonical() []byte {
	if s.text != nil {
		return s.text
	}
	return canonicalSurface(s.def)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonicalSurface returns a tool as its server describes it, as canonical JSON.
// What is absent and what says nothing are the same: a title without characters,
// annotations without members. What nobody can read as JSON, which only comes from
// tools that are made here, is kept as text.
func canonicalSurface(def *Definition) []byte {
	out := make([]byte, 0, 128+len(def.Description)+len(def.InputSchema)+len(def.OutputSchema))
	out = appendSurfaceJSON(out, "annotations", annotationsOf(def))
	out = appendSurfaceText(out, "description", def.Description)
	out = appendSurfaceJSON(out, "inputSchema", def.InputSchema)
	out = appendSurfaceText(out, "name", def.called())
	out = appendSurfaceJSON(out, "outputSchema", def.OutputSchema)
	out = appendSurfaceText(out, "title", def.Title)
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

// annotationsOf returns the annotations as the server sent them, as far as that
// is known; nil if they say nothing.
func annotationsOf(def *Definition) json.RawMessage {
	raw := def.RawAnnotations
	if len(raw) == 0 && def.Annotations != nil {
		raw = annotationsJSON(def.Annotations)
	}
	if isNull(raw) || bytes.Equal(bytes.Join(bytes.Fields(raw), nil), []byte("{}")) {
		return nil
	}
	return raw
}

// annotationsJSON leaves out what a server need not have said, so that it is the
// same whether raw annotations were kept or not.
func annotationsJSON(a *mcp.ToolAnnotations) json.RawMessage {
	raw, err := json.Marshal(struct {
		Destructive *bool  `json:"destructiveHint,omitempty"`
		Idempotent  bool   `json:"idempotentHint,omitempty"`
		OpenWorld   *bool  `json:"openWorldHint,omitempty"`
		ReadOnly    bool   `json:"readOnlyHint,omitempty"`
		Title       string `json:"title,omitempty"`
	}{a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint, a.ReadOnlyHint, a.Title})
	if err != nil { // cannot be: there are only texts and booleans
		return nil
	}
	return raw
}
