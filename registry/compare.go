package registry

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// SurfaceHash returns the SHA-256 of everything that a server says of the tool, as it
// is in [ledger.Entry].Hash: "sha256:" and hexadecimal digits. The names that the tool
// is called by here do not count.
func (d *Definition) SurfaceHash() string { return surfaceOf(d).Hash }

// Compare returns how a server's tool differs from what it was, in anything that the
// server says of it; nil if in nothing. The names that it is called by here do not
// count. Neither may be nil.
func Compare(before, after *Definition) *ledger.Change {
	if before == nil || after == nil {
		panic("registry: Compare: a definition is nil")
	}
	return ledger.Compare(after.Origin.Server, surfaceOf(before), surfaceOf(after))
}

// Verify returns what a server offers otherwise than a ledger says, whatever the mode:
// tools that are new, changed, rejected or gone, a server that is another one, and
// instructions that are others than those it knows. It changes nothing. An integration
// test fails if it returns anything.
func Verify(l *ledger.Ledger, server Server, tools []Tool) []ledger.Change {
	var surfaces []*ledger.Surface
	for _, tool := range tools {
		if def, err := definitionOf(tool); err == nil {
			surfaces = append(surfaces, surfaceOf(def.asServed()))
		}
	}
	return l.Verify(server.ledger(), surfaces...)
}

// Quarantines reports whether all of a server is held back because it is in quarantine,
// see [Server.Quarantined].
func (r *Registry) Quarantines(server Server) bool { return r.ledger.Quarantines(server.ledger()) }

// surfaceOf returns what a server says of a tool.
func surfaceOf(def *Definition) *ledger.Surface {
	return ledger.NewSurface(&ledger.Tool{Name: def.called(), Title: def.Title, Description: def.Description,
		InputSchema: def.InputSchema, OutputSchema: def.OutputSchema, Annotations: annotationsOf(def)})
}

// annotationsOf returns the annotations as the server sent them, as far as that
// is known; nil if there are none.
func annotationsOf(def *Definition) json.RawMessage {
	raw := def.RawAnnotations
	if len(raw) == 0 && def.Annotations != nil {
		raw = annotationsJSON(def.Annotations)
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
