package host

import (
	"errors"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// unreadable returns what to say of the tools of an entry that were left out of its
// server's list because they cannot be read. The gate, which has not seen them, would
// say as much.
func unreadable(e *config.Server, problems []mcp.ListProblem) []registry.Rejection {
	var rejected []registry.Rejection
	for _, p := range problems {
		if p.Method != "tools/list" || p.Name != "" && !testAllows(e.Tools, p.Name) {
			continue
		}
		token := gate.TokenUnreadable
		if p.Token == "too_deep" {
			token = gate.TokenTooDeep
		}
		field, why := "", p.Err
		var invalid *mcp.ProtocolError
		if errors.As(p.Err, &invalid) {
			field, why = "/"+invalid.Path, invalid.Err
		}
		name := p.Name
		if name == "" {
			name = p.Path
		}
		rejected = append(rejected, registry.Rejection{Name: name, Err: &gate.Error{Server: e.Name, Tool: name, Findings: []gate.Finding{{
			Token:    token,
			Severity: gate.Block,
			Field:    field,
			Detail:   why.Error(),
		}}}})
	}
	return slices.Clip(rejected)
}
