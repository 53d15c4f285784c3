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
	d := &dialect.Dialect{
		Name:   "goose",
		Syntax: syntax(),
		Key:    "extensions",
		Kinds:  []jsonc.Kind{jsonc.Array, jsonc.Null},
		Absent: `the file has no servers: put them under "extensions"`,
		Skip: func(n *jsonc.Node) string {
			if isBuiltin(n) {
				return "it is built into Goose, which only Goose can run"
			}
			return ""
		},
		Words: "command=cmd args env=envs url=uri headers enabled description " +
			"transport=type readTimeoutSeconds=timeout tools tools.allow=available_tools",
		Renames: map[string]string{"name": "", "display_name": "", "bundled": ""},
		Keys:    []string{"env_keys"},
		Snake:   true,
		Writes: dialect.Writing{
			Empty:      "extensions: {}\n",
			Transports: map[string]string{"stdio": "stdio", "http": "streamable_http", "sse": "sse"},
			Always:     true,
			Name:       "name",
			References: dialect.BracedRefs,
			Notes:      map[string]string{"readTimeoutSeconds": "is called timeout there, in seconds"},
		},
	}
	d.Translate = func(_ *dialect.Entry, fields []dialect.Field) ([]dialect.Field, []dialect.Fault) {
		return translate(d, fields)
	}
	return d
}

// translate reads one extension.
func translate(d *dialect.Dialect, found []dialect.Field) (fields []dialect.Field, faults []dialect.Fault) {
	var passed []dialect.Field
	for _, f := range found {
		switch {
		case f.Key == "config" && f.Value.Kind == jsonc.Object: // an older form has all but "enabled" there
			inner, more := dialect.FieldsOf(d, &dialect.Entry{At: f.At, Value: f.Value})
			fields, faults = append(fields, inner...), append(faults, more...)
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
