package config

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

const serversKey = "mcpServers"

// mcpServers is the dialect of Claude Desktop, Claude Code, Cursor, Windsurf, Cline,
// Gemini CLI and many others.
func mcpServers() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   "mcpServers",
		Syntax: dialect.JSON(),
		Like: func(_ string, root *jsonc.Node) dialect.Likeness {
			if root.Member(serversKey) != nil {
				return dialect.Possible
			}
			return dialect.Foreign
		},
		Sections: mcpServersSections,
	}
}

func mcpServersSections(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
	if root.Kind != jsonc.Object {
		return nil, &dialect.Fault{Offset: root.Offset,
			Text: "the file must hold an object such as {\"mcpServers\": {}}, not " + root.Kind.String()}
	}
	if m := root.Member(serversKey); m != nil {
		section, fault := servers(&m.Value, serversKey)
		return []dialect.Section{section}, fault
	}
	for i := range root.Members {
		m := &root.Members[i]
		if strings.EqualFold(m.Key, "mcp_servers") || distance(m.Key, serversKey) <= 2 {
			return nil, &dialect.Fault{Offset: m.Offset, At: jsonc.Path("").Key(m.Key),
				Text: "the file has no \"mcpServers\": rename this key to it"}
		}
	}
	return nil, &dialect.Fault{Offset: root.Offset,
		Text: "the file has no \"mcpServers\" object: put the servers in {\"mcpServers\": {}}"}
}

// servers returns the section of an object or list of servers.
func servers(n *jsonc.Node, at jsonc.Path) (dialect.Section, *dialect.Fault) {
	switch n.Kind {
	case jsonc.Object:
		return dialect.Named(n, at), nil
	case jsonc.Array:
		return dialect.Listed(n, at), nil
	default:
		return dialect.Section{}, &dialect.Fault{Offset: n.Offset, At: at,
			Text: "must be an object with one member per server, such as {\"files\": {\"command\": \"npx\"}}, not " + n.Kind.String()}
	}
}
