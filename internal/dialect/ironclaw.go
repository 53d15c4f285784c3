package dialect

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// IronClaw is the dialect of IronClaw: "servers", an object of servers or a list of
// servers with names.
func IronClaw() *Dialect {
	return &Dialect{
		Name:      "ironclaw",
		Key:       "servers",
		Kinds:     []jsonc.Kind{jsonc.Array},
		Like:      ironclawLike,
		Words:     "command args env url headers enabled description transport auth",
		Renames:   map[string]string{"oauth": "auth"},
		Foreign:   []string{"metadata", "cached_tools"},
		Translate: ironclawFields,
		Snake:     true,
		Writes:    Writing{Transports: map[string]string{"stdio": "stdio", "http": "http", "auto": ""}},
	}
}

func ironclawLike(filename string, root *jsonc.Node) Likeness {
	m := root.Member("servers")
	base := BaseName(filename)
	if m == nil || m.Value.Kind != jsonc.Object && m.Value.Kind != jsonc.Array {
		return Foreign
	}
	// Another object is VS Code's.
	return CertainIf(base == "mcp-servers.json" || base == "mcp_servers.json" || root.Member("schema_version") != nil || m.Value.Kind == jsonc.Array)
}

func ironclawFields(e *Entry, found []Field) (fields []Field, _ []Fault) {
	behindSocket := false
	for _, f := range found {
		switch {
		case f.Key == "name" && f.Value.Kind == jsonc.String && f.Value.Text == e.Title:
			continue // of a list
		case f.Key == "metadata" && f.Value.Kind == jsonc.Object && e.Value.Member("description") == nil:
			for _, of := range f.Inside(nil) {
				if of.Key == "description" {
					fields = append(fields, of)
				}
			}
		case f.Key == "transport" && f.Value.Kind == jsonc.Object:
			for _, f := range f.Inside(map[string]string{"socket_path": "url"}) {
				if f.Written == "socket_path" && f.Value.Kind == jsonc.String {
					f.Value, behindSocket = Text(f.Value, "unix://"+f.Value.Text), true
				}
				fields = append(fields, f)
			}
			continue
		}
		fields = append(fields, f)
	}
	if behindSocket { // then that is the address
		fields = slices.DeleteFunc(fields, func(f Field) bool { return f.Key == "url" && f.Value.Text == "" })
	}
	return fields, nil
}
