package config

import (
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// kode is the dialect of .mcprc: an object with one member for each server and
// nothing else, which Copilot CLI takes in a .mcp.json too. The other files of Kode are
// in the dialect mcpServers.
func kode() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   "kode",
		Syntax: dialect.JSON(),
		Like: func(filename string, root *jsonc.Node) dialect.Likeness {
			switch base := dialect.BaseName(filename); {
			case root.Kind != jsonc.Object || root.Member(serversKey) != nil:
			case base == ".mcprc", (base == ".mcp.json" || base == "mcp.json") && onlyServers(root):
				return dialect.Certain
			}
			return dialect.Foreign
		},
		Sections: func(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
			if root.Kind != jsonc.Object {
				return nil, dialect.NotServers(root, "")
			}
			return []dialect.Section{dialect.Named(root, "")}, nil
		},
		Translate: mcpServersFields,
		Literal:   true,
		Write:     func(*jsonc.Node) *dialect.Writing { return writesShared() },
	}
}

// onlyServers reports whether all members of an object look like servers.
func onlyServers(root *jsonc.Node) bool {
	for i := range root.Members {
		if n := &root.Members[i].Value; n.Member("command") == nil && n.Member("url") == nil {
			return false
		}
	}
	return len(root.Members) > 0
}
