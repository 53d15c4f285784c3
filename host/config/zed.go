package config

import (
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

const zedKey = "context_servers"

// zed is the dialect of the settings.json of Zed.
func zed() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   "zed",
		Syntax: dialect.JSON(),
		Like: func(_ string, root *jsonc.Node) dialect.Likeness {
			return dialect.CertainIf(root.Member(zedKey) != nil)
		},
		Sections: func(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
			list, fault := dialect.Under(root, "", zedKey, "the file has no \"context_servers\" object: put the servers in {\"context_servers\": {}}")
			for _, section := range list {
				for i := range section.Entries {
					if e := &section.Entries[i]; ofExtension(e.Value) {
						e.Skip = "it is started by an extension of Zed, which only Zed can run"
					}
				}
			}
			return list, fault
		},
		Translate: zedFields,
		Keys:      []string{"source", "settings", "remote"},
		Literal:   true,
		Write:     writesZed,
	}
}

// ofExtension reports whether an entry holds the settings of an extension of Zed.
func ofExtension(n *jsonc.Node) bool {
	for _, key := range []string{"command", "url"} {
		if m := n.Member(key); m != nil && m.Value.Kind != jsonc.Null {
			return false
		}
	}
	if m := n.Member("source"); m != nil {
		return m.Value.Text == "extension"
	}
	return n.Member("settings") != nil
}

// zedFields reads the flat form and the older one, in which "command" is an object of
// path, args, env and timeout.
func zedFields(e *dialect.Entry) ([]dialect.Field, []dialect.Fault) {
	var fields []dialect.Field
	for _, f := range dialect.Fields(e, nil) {
		switch {
		case f.Key == "source" || f.Key == "remote" || f.Key == "settings":
			f.Foreign = true
			fields = append(fields, f)
		case f.Key == "command" && f.Value.Kind == jsonc.Object:
			inner := dialect.Entry{At: f.At, Offset: f.Offset, Value: f.Value}
			for _, g := range dialect.Fields(&inner, map[string]string{"path": "command"}) {
				if g.Key == "timeout" {
					// Milliseconds, which this form counted in.
					g.Key = dialect.ReadMilliseconds
				}
				fields = append(fields, g)
			}
		case f.Key == "timeout":
			f.Key = "readTimeoutSeconds"
			fields = append(fields, f)
		default:
			fields = append(fields, f)
		}
	}
	return fields, nil
}

func writesZed(*jsonc.Node) *dialect.Writing {
	keys := dialect.SameKeys("command", "args", "env", "url", "headers", "enabled")
	keys["readTimeoutSeconds"] = "timeout"
	return &dialect.Writing{
		Edit:       dialect.EditJSON(),
		Container:  []string{zedKey},
		Keys:       keys,
		Transports: map[string]string{TransportStdio: "", TransportHTTP: "", TransportAuto: ""},
		References: dialect.NoReferences,
		Notes: map[string]string{
			"readTimeoutSeconds": "is called timeout there, in seconds",
			"transport":          "is told by the keys there: a url is streamable HTTP",
			"cwd":                "has no place in Zed, which runs servers in the folder of the project",
		},
	}
}
