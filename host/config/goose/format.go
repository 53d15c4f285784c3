package goose

import (
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

const serversKey = "extensions"

// Format returns the format of the config.yaml of Goose, called "goose".
func Format() config.Format { return format{} }

type format struct{}

func (format) Name() string { return "goose" }

func (f format) Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   f.Name(),
		Syntax: dialect.Syntax{Name: "YAML", Extensions: []string{".yaml", ".yml"}, Parse: parse},
		Like: func(_ string, root *jsonc.Node) dialect.Likeness {
			if root.Member(serversKey) != nil {
				return dialect.Certain
			}
			return dialect.Foreign
		},
		Sections:  sections,
		Write:     writing,
		Translate: translate,
		Keys:      []string{"cmd", "envs", "env_keys", "uri", "available_tools", "bundled", "display_name"},
		Words:     map[string]string{"command": "cmd", "url": "uri", "env": "envs"},
		Snake:     true,
	}
}

func sections(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
	m := root.Member(serversKey)
	if m == nil {
		return nil, &dialect.Fault{Offset: root.Offset,
			Text: "the file has no servers: put them under \"extensions\"", Absent: true}
	}
	var section dialect.Section
	switch m.Value.Kind {
	case jsonc.Object:
		section = dialect.Named(&m.Value, serversKey)
	case jsonc.Array:
		section = dialect.Listed(&m.Value, serversKey)
	case jsonc.Null:
		return nil, nil
	default:
		return nil, &dialect.Fault{Offset: m.Value.Offset, At: serversKey,
			Text: "must be a mapping with one key per server, not " + m.Value.Kind.String()}
	}
	for i := range section.Entries {
		if e := &section.Entries[i]; own(e.Value) {
			e.Skip = "it is built into Goose, which only Goose can run"
		}
	}
	return []dialect.Section{section}, nil
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
		inner := dialect.Entry{At: e.At.Key("config"), Offset: m.Offset, Value: &m.Value}
		found = append(found, dialect.Fields(&inner, keys)...)
	}
	var fields, first []dialect.Field
	var faults []dialect.Fault
	for _, f := range found {
		switch {
		case f.Key == "config" && f.Value.Kind == jsonc.Object:
		case f.Key == "env_keys":
			var wrong []dialect.Fault
			first, wrong = secrets(f)
			faults = append(faults, wrong...)
		case f.Key == "includeTools" && f.Value.Kind == jsonc.Array && len(f.Value.Elems) == 0: // all of them
		default:
			fields = append(fields, f)
		}
	}
	return append(first, fields...), faults
}

// own reports whether an extension is part of Goose.
func own(n *jsonc.Node) bool {
	if m := n.Member("config"); m != nil && n.Member("type") == nil {
		n = &m.Value
	}
	m := n.Member("type")
	if m == nil {
		return false
	}
	switch m.Value.Text {
	case "builtin", "platform", "frontend", "inline_python":
		return true
	default:
		return false
	}
}

// secrets reads the names of variables that Goose takes from the environment, or else
// from its own secret store. Those of "envs" come after and win.
func secrets(f dialect.Field) (fields []dialect.Field, faults []dialect.Fault) {
	if f.Value.Kind == jsonc.Null {
		return nil, nil
	}
	if f.Value.Kind != jsonc.Array {
		return nil, []dialect.Fault{{Offset: f.Value.Offset, At: f.At,
			Text: "must be a list of names of variables, not " + f.Value.Kind.String()}}
	}
	for i := range f.Value.Elems {
		n, at := &f.Value.Elems[i], f.At.Index(i)
		v, fault := dialect.Variable(n, at)
		if fault != nil {
			faults = append(faults, *fault)
			continue
		}
		fields = append(fields, dialect.Field{
			Key: "env", Written: f.Written, Name: n.Text, At: at, Offset: n.Offset, Value: v,
			Otherwise: "${keyring:" + n.Text + "}",
		})
	}
	return fields, faults
}
