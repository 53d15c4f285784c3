package config

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// vscode is the dialect of VS Code and Visual Studio: "servers" and "inputs" in an
// mcp.json of their own, below "mcp" in a settings.json, and below "settings" and
// "mcp" in a .code-workspace file.
func vscode() *dialect.Dialect {
	return &dialect.Dialect{
		Name:     "vscode",
		Like:     vscodeLike,
		Sections: vscodeSections,
		Inputs: func(root *jsonc.Node) (*jsonc.Node, jsonc.Path) {
			holder, at := vscodeHolder(root)
			if m := holder.Member("inputs"); m != nil {
				return &m.Value, at.Key("inputs")
			}
			return nil, ""
		},
		Translate: vscodeFields,
		Keys:      []string{"envFile", "dev", "gallery", "version", "sandbox", "sandboxEnabled"},
		Literal:   true,
		Scalars:   true,
		Write:     writesVSCode,
	}
}

// vscodeFields says that a sandbox that is asked for is not there. A list of tools is
// Copilot's, which VS Code does not heed.
func vscodeFields(e *dialect.Entry) ([]dialect.Field, []dialect.Fault) {
	var faults []dialect.Fault
	if m := e.Value.Member("sandboxEnabled"); m != nil && m.Value.Text == "true" {
		faults = append(faults, dialect.Fault{Offset: m.Offset, At: e.At.Key(m.Key), Warning: true,
			Text: "is the sandbox of VS Code, which there is not here: the server runs without it; write \"isolation\" to confine it"})
	}
	fields := dialect.Fields(e, nil)
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

func vscodeLike(filename string, root *jsonc.Node) dialect.Likeness {
	holder, at := vscodeHolder(root)
	if !isObject(holder, "servers") || dialect.OpenCode().Like(filename, root) == dialect.Certain {
		return dialect.Foreign
	}
	base := strings.ToLower(dialect.BaseName(filename))
	if at != "" || holder.Member("inputs") != nil || root.Member(serversKey) != nil || base == "mcp.json" || base == ".mcp.json" {
		return dialect.Certain
	}
	return dialect.Possible
}

func vscodeSections(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
	holder, at := vscodeHolder(root)
	return dialect.Under(holder, at, "servers", "the file has no \"servers\" object: put the servers in {\"servers\": {}}")
}

func writesVSCode(*jsonc.Node) *dialect.Writing {
	return &dialect.Writing{
		Container:  []string{"servers"},
		Keys:       dialect.Spelled("command args env cwd url headers transport=type"),
		Transports: map[string]string{TransportStdio: "stdio", TransportHTTP: "http", TransportSSE: "sse"},
		References: dialect.EditorRefs,
		Notes: map[string]string{
			"enabled":   "has no place in VS Code, which would start the server: leave it out there, or switch it off in the editor",
			"transport": "VS Code knows http, which falls back to sse, and sse",
		},
	}
}

// isObject reports whether n has a member that is an object.
func isObject(n *jsonc.Node, key string) bool {
	m := n.Member(key)
	return m != nil && m.Value.Kind == jsonc.Object
}
