package dialect

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Kode is the dialect of .mcprc: an object with one member for each server and
// nothing else, which Copilot CLI takes in a .mcp.json too. The other files of Kode are
// in the dialect mcpServers.
func Kode() *Dialect {
	return &Dialect{
		Name: "kode",
		Like: func(filename string, root *jsonc.Node) Likeness {
			base := BaseName(filename)
			return CertainIf(root.Kind == jsonc.Object && root.Member(serversKey) == nil &&
				(base == ".mcprc" || (base == ".mcp.json" || base == "mcp.json") && onlyServers(root)))
		},
		Sections: func(root *jsonc.Node) ([]Section, *Fault) {
			if root.Kind != jsonc.Object {
				return nil, NotServers(root, "")
			}
			return []Section{Named(root, "")}, nil
		},
		Words:     sharedWords(),
		Renames:   sharedRenames(),
		Translate: mcpServersFields,
		Literal:   true,
		Writes:    writesShared(),
	}
}

// onlyServers reports whether all members of an object look like servers.
func onlyServers(root *jsonc.Node) bool {
	return len(root.Members) > 0 && !slices.ContainsFunc(root.Members, func(m jsonc.Member) bool {
		return m.Value.Member("command") == nil && m.Value.Member("url") == nil
	})
}
