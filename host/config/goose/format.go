package goose

import (
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/yamljson"
	"slices"
)

func syntax() dialect.Syntax {
	return dialect.Syntax{Extensions: []string{".yaml", ".yml"}, Parse: yamljson.Parse, Edit: edits()}
}

// Format returns the format of the config.yaml of Goose, called "goose".
func Format() *config.Format {
	return &dialect.Dialect{
		Name:   "goose",
		Syntax: syntax(),
		Like: func(_ string, root *jsonc.Node) dialect.Likeness {
			return dialect.CertainIf(root.Member("extensions") != nil)
		},
		Sections:  sections,
		Translate: translate,
		Keys:      []string{"cmd", "envs", "env_keys", "uri", "available_tools", "bundled", "display_name"},
		Words:     map[string]string{"command": "cmd", "url": "uri", "env": "envs"},
		Snake:     true,
		Write: func(*jsonc.Node) *dialect.Writing {
			return &dialect.Writing{
				Empty:     "extensions: {}\n",
				Container: []string{"extensions"},
				Keys: dialect.Spelled("command=cmd args env=envs url=uri headers enabled description " +
					"transport=type readTimeoutSeconds=timeout tools tools.allow=available_tools"),
				Transports: map[string]string{"stdio": "stdio", "http": "streamable_http", "sse": "sse"},
				Always:     true,
				Name:       "name",
				References: dialect.BracedRefs,
				Notes:      map[string]string{"readTimeoutSeconds": "is called timeout there, in seconds"},
			}
		},
	}
}

func sections(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
	list, fault := dialect.Under(root, "", "extensions", `the file has no servers: put them under "extensions"`, jsonc.Array, jsonc.Null)
	for _, section := range list {
		for i := range section.Entries {
			if e := &section.Entries[i]; isBuiltin(e.Value) {
				e.Skip = "it is built into Goose, which only Goose can run"
			}
		}
	}
	return list, fault
}

// translate reads one extension.
func translate(e *dialect.Entry) ([]dialect.Field, []dialect.Fault) {
	keys := map[string]string{
		"name": "", "display_name": "", "bundled": "",
		"cmd": "command", "envs": "env", "uri": "url", "timeout": "readTimeoutSeconds", "available_tools": "includeTools",
	}
	found := dialect.Fields(e, keys)
	if m := e.Value.Member("config"); m != nil && m.Value.Kind == jsonc.Object {
		// An older form has all but "enabled" one level deeper.
		found = append(found, dialect.Fields(&dialect.Entry{At: e.At.Key("config"), Value: &m.Value}, keys)...)
	}
	var fields, passed []dialect.Field
	var faults []dialect.Fault
	for _, f := range found {
		switch {
		case f.Key == "config" && f.Value.Kind == jsonc.Object:
		case f.Key == "env_keys": // from the environment, or else from the secret store
			passed, faults = f.Variables(faults)
			for i := range passed {
				passed[i].Fallback = "${keyring:" + passed[i].Name + "}"
			}
		case f.Key == "includeTools" && f.Value.Kind == jsonc.Array && len(f.Value.Elems) == 0: // all of them
		default:
			fields = append(fields, f)
		}
	}
	return append(passed, fields...), faults // of two that set a variable the last one counts
}

// isBuiltin reports whether an extension is part of Goose.
func isBuiltin(n *jsonc.Node) bool {
	if m := n.Member("config"); m != nil && n.Member("type") == nil {
		n = &m.Value
	}
	return slices.Contains([]string{"builtin", "platform", "frontend", "inline_python"}, n.MemberText("type"))
}
