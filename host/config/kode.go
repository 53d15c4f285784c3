package config

import (
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// kode is the dialect of .mcprc: an object with one member for each server and
// nothing else. The other files of Kode are in the dialect mcpServers.
func kode() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   "kode",
		Syntax: dialect.JSON(),
		Like: func(filename string, root *jsonc.Node) dialect.Likeness {
			if baseName(filename) == ".mcprc" && root.Kind == jsonc.Object && root.Member(serversKey) == nil {
				return dialect.Certain
			}
			return dialect.Foreign
		},
		Sections: func(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
			if root.Kind != jsonc.Object {
				return nil, notServers(root, "")
			}
			return []dialect.Section{dialect.Named(root, "")}, nil
		},
	}
}
