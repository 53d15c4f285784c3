package config

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// ironclaw is the dialect of IronClaw: "servers", an object of servers or a list of
// servers with names.
func ironclaw() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   "ironclaw",
		Syntax: dialect.JSON(),
		Like:   ironclawLike,
		Sections: func(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
			return dialect.Under(root, "", "servers", "the file has no \"servers\": put the servers in {\"servers\": {}}", jsonc.Array)
		},
		Translate: func(e *dialect.Entry) ([]dialect.Field, []dialect.Fault) {
			return ironclawFields(e), nil
		},
		Keys:  []string{"oauth", "metadata", "cached_tools"},
		Snake: true,
		Write: writesIronclaw,
	}
}

func ironclawLike(filename string, root *jsonc.Node) dialect.Likeness {
	m := root.Member("servers")
	base := dialect.BaseName(filename)
	switch {
	case m == nil || m.Value.Kind != jsonc.Object && m.Value.Kind != jsonc.Array:
		return dialect.Foreign
	case base == "mcp-servers.json" || base == "mcp_servers.json" || root.Member("schema_version") != nil:
		return dialect.Certain
	case m.Value.Kind == jsonc.Array:
		return dialect.Certain
	default: // VS Code's
		return dialect.Foreign
	}
}

func ironclawFields(e *dialect.Entry) []dialect.Field {
	var fields []dialect.Field
	behindSocket := false
	for _, f := range dialect.Fields(e, map[string]string{"oauth": "auth"}) {
		switch {
		case f.Key == "name" && f.Value.Kind == jsonc.String && f.Value.Text == e.Title:
			continue // of a list
		case f.Key == "metadata" || f.Key == "cached_tools":
			f.Foreign = true
		case f.Key == "transport" && f.Value.Kind == jsonc.Object:
			inner := dialect.Entry{At: f.At, Offset: f.Offset, Value: f.Value}
			for _, f := range dialect.Fields(&inner, nil) {
				if f.Key == "socket_path" {
					f, behindSocket = socketField(f), true
				}
				fields = append(fields, f)
			}
			continue
		}
		fields = append(fields, f)
	}
	if behindSocket { // then that is the address
		fields = slices.DeleteFunc(fields, func(f dialect.Field) bool { return f.Key == "url" && f.Value.Text == "" })
	}
	return fields
}

func writesIronclaw(*jsonc.Node) *dialect.Writing {
	keys := dialect.SameKeys("command", "args", "env", "url", "headers", "enabled", "description", "transport", "auth")
	return &dialect.Writing{
		Edit:       dialect.EditJSON(),
		Container:  []string{"servers"},
		Keys:       keys,
		Transports: map[string]string{TransportStdio: "stdio", TransportHTTP: "http", TransportAuto: ""},
		References: dialect.NoReferences,
	}
}
