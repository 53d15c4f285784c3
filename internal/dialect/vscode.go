package dialect

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// VSCode is the dialect of VS Code and Visual Studio: "servers" and "inputs" in an
// mcp.json of their own, below "mcp" in a settings.json, and below "settings" and
// "mcp" in a .code-workspace file.
func VSCode() *Dialect {
	return &Dialect{
		Name:     "vscode",
		Key:      "servers",
		Like:     vscodeLike,
		Sections: vscodeSections,
		Inputs: func(root *jsonc.Node) (*jsonc.Node, jsonc.Path) {
			holder, at := vscodeHolder(root)
			if m := holder.Member("inputs"); m != nil {
				return &m.Value, at.Key("inputs")
			}
			return nil, ""
		},
		Words:     "command args env cwd url headers transport=type",
		Translate: vscodeFields,
		Keys:      []string{"envFile", "dev", "gallery", "version", "sandbox", "sandboxEnabled"},
		Literal:   true,
		Scalars:   true,
		Writes: Writing{
			Transports: map[string]string{"stdio": "stdio", "http": "http", "sse": "sse"},
			References: EditorRefs,
			Notes: map[string]string{
				"enabled":   "has no place in VS Code, which would start the server: leave it out there, or switch it off in the editor",
				"transport": "VS Code knows http, which falls back to sse, and sse",
			},
		},
	}
}

// vscodeFields says that a sandbox that is asked for is not there. A list of tools is
// Copilot's, which VS Code does not heed.
func vscodeFields(e *Entry, fields []Field) (_ []Field, faults []Fault) {
	if m := e.Value.Member("sandboxEnabled"); m != nil && m.Value.Text == "true" {
		faults = append(faults, Fault{Offset: m.Offset, At: e.At.Key(m.Key), Warning: true,
			Text: "is the sandbox of VS Code, which there is not here: the server runs without it; write \"isolation\" to confine it"})
	}
	for i := range fields {
		fields[i].Foreign = fields[i].Key == "tools" && fields[i].Value.Kind == jsonc.Array
	}
	return fields, faults
}

// vscodeHolder returns the object that has the members servers and inputs, or may.
func vscodeHolder(root *jsonc.Node) (*jsonc.Node, jsonc.Path) {
	if root.Member("servers") != nil {
		return root, ""
	}
	holder, at := root, jsonc.Path("")
	if m := root.Member("settings"); m != nil && isObject(&m.Value, "mcp") {
		holder, at = &m.Value, at.Key("settings")
	}
	if m := holder.Member("mcp"); m != nil && m.Value.Member("servers") != nil {
		return &m.Value, at.Key("mcp")
	}
	return root, ""
}

func vscodeLike(filename string, root *jsonc.Node) Likeness {
	holder, at := vscodeHolder(root)
	if !isObject(holder, "servers") || openCodeLike(filename, root) == Certain {
		return Foreign
	}
	base := strings.ToLower(BaseName(filename))
	if at != "" || holder.Member("inputs") != nil || root.Member(serversKey) != nil || base == "mcp.json" || base == ".mcp.json" {
		return Certain
	}
	return Possible
}

func vscodeSections(root *jsonc.Node) ([]Section, *Fault) {
	holder, at := vscodeHolder(root)
	return Under(holder, at, "servers", "")
}

// isObject reports whether n has a member that is an object.
func isObject(n *jsonc.Node, key string) bool {
	m := n.Member(key)
	return m != nil && m.Value.Kind == jsonc.Object
}
