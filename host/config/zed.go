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
			if root.Member(zedKey) != nil {
				return dialect.Certain
			}
			return dialect.Foreign
		},
		Sections: func(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
			m := root.Member(zedKey)
			if m == nil {
				return nil, &dialect.Fault{Offset: root.Offset,
					Text: "the file has no \"context_servers\" object: put the servers in {\"context_servers\": {}}", Absent: true}
			}
			if m.Value.Kind != jsonc.Object {
				return nil, notServers(&m.Value, zedKey)
			}
			return []dialect.Section{dialect.Named(&m.Value, zedKey)}, nil
		},
		Translate: zedFields,
		Keys:      []string{"source", "settings", "remote"},
		Literal:   true,
	}
}

// zedFields reads the flat form and the older one, in which "command" is an object of
// path, args, env and timeout.
func zedFields(e *dialect.Entry) ([]dialect.Field, []dialect.Fault) {
	var fields []dialect.Field
	var faults []dialect.Fault
	runs := false
	for _, f := range dialect.Fields(e, nil) {
		switch {
		case f.Key == "source" || f.Key == "remote" || f.Key == "settings":
			f.Foreign = true
			fields = append(fields, f)
		case f.Key == "command" && f.Value.Kind == jsonc.Object:
			runs = true
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
			runs = runs || f.Value.Kind != jsonc.Null && (f.Key == "command" || f.Key == "url")
			fields = append(fields, f)
		}
	}
	if !runs {
		faults = append(faults, dialect.Fault{Offset: e.Offset, At: e.At,
			Text: "is started by an extension of Zed, which only Zed can run: add \"command\" for a local server or \"url\" for a remote one"})
	}
	return fields, faults
}
