package dialect

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// IronClaw is the dialect of IronClaw: "servers", an object of servers or a list of
// servers with names.
func IronClaw() *Dialect {
	return &Dialect{
		Name: "ironclaw",
		Like: ironclawLike,
		Sections: func(root *jsonc.Node) ([]Section, *Fault) {
			return Under(root, "", "servers", "the file has no \"servers\": put the servers in {\"servers\": {}}", jsonc.Array)
		},
		Translate: func(e *Entry) ([]Field, []Fault) {
			return ironclawFields(e), nil
		},
		Keys:  []string{"oauth", "metadata", "cached_tools"},
		Snake: true,
		Write: writesIronclaw,
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

func ironclawFields(e *Entry) []Field {
	var fields []Field
	behindSocket := false
	for _, f := range Fields(e, map[string]string{"oauth": "auth"}) {
		switch {
		case f.Key == "name" && f.Value.Kind == jsonc.String && f.Value.Text == e.Title:
			continue // of a list
		case f.Key == "metadata" || f.Key == "cached_tools":
			f.Foreign = true
			if f.Key == "metadata" && f.Value.Kind == jsonc.Object && e.Value.Member("description") == nil {
				for _, of := range f.Inside(nil) {
					if of.Key == "description" {
						fields = append(fields, of)
					}
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
	return fields
}

func writesIronclaw(*jsonc.Node) *Writing {
	return &Writing{
		Container:  []string{"servers"},
		Keys:       Spelled("command args env url headers enabled description transport auth"),
		Transports: map[string]string{"stdio": "stdio", "http": "http", "auto": ""},
		References: NoReferences,
	}
}
