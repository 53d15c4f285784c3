package host

import (
	"errors"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// UnreadableTools returns, for the tools that a client of the server of an entry left out
// of its list because they cannot be read, rejections as those of the gate, which has not
// seen them. See [mcp.Client.ListProblems].
func UnreadableTools(e *config.Server, problems []mcp.ListProblem) []registry.Rejection {
	var rejected []registry.Rejection
	for _, p := range problems {
		if p.Method != "tools/list" || p.Name != "" && !allows(e.Tools, p.Name) {
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
