package goose

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Continue returns the format of the config.yaml of Continue, called "continue": a list
// "mcpServers" of servers with names.
func Continue() *config.Format {
	return &dialect.Dialect{
		Name:   "continue",
		Syntax: syntax(),
		Key:    "mcpServers",
		Like: func(filename string, root *jsonc.Node) dialect.Likeness {
			m := root.Member("mcpServers")
			if m == nil && strings.Contains(filepath.ToSlash(filename), ".continue/") { // which says what is missing
				return dialect.Possible
			}
			return dialect.CertainIf(m != nil && m.Value.Kind == jsonc.Array)
		},
		Sections: func(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
			list, fault := dialect.Under(root, "", "mcpServers", `the file has no servers: put them into a list "mcpServers"`, jsonc.Array, jsonc.Null)
			for i := range list { // without servers that stand elsewhere and are only used here
				list[i].Entries = slices.DeleteFunc(list[i].Entries, func(e dialect.Entry) bool { return e.Value.Member("uses") != nil })
			}
			return list, fault
		},
		Words: "transport=type command args env cwd url headers=requestOptions/headers " +
			"connectTimeoutSeconds=connectionTimeout",
		Renames:   map[string]string{"name": ""},
		Foreign:   []string{"faviconUrl", "serverName", "sourceFile"},
		Keys:      []string{"apiKey", "requestOptions"},
		Translate: continueFields,
		Literal:   true,
		Writes: dialect.Writing{
			Empty:        "mcpServers: []\n",
			Transports:   map[string]string{"stdio": "stdio", "http": "streamable-http", "sse": "sse"},
			Milliseconds: true,
			References:   dialect.SecretRefs,
			Notes: map[string]string{
				"connectTimeoutSeconds": "is called connectionTimeout there, in milliseconds",
				"enabled":               "has no place in Continue, which would start the server: leave it out there",
			},
		},
	}
}

// continueFields reads one server.
func continueFields(_ *dialect.Entry, found []dialect.Field) (fields []dialect.Field, faults []dialect.Fault) {
	for _, f := range found {
		switch {
		case f.Key == "apiKey" && f.Value.Kind == jsonc.String:
			f.Key, f.Name = "headers", "Authorization"
			f.Value = dialect.Text(f.Value, "Bearer "+f.Value.Text)
		case f.Key == "apiKey":
			faults = append(faults, dialect.Fault{Offset: f.Value.Offset, At: f.At, Text: "must be a string, not " + f.Value.Kind.String()})
		case f.Key == "requestOptions" && f.Value.Kind == jsonc.Object:
			if m := f.Value.Member("headers"); m != nil { // the rest is Continue's own
				fields = append(fields, dialect.Field{Key: "headers", Written: m.Key, At: f.At.Key(m.Key), Offset: m.Offset, Value: &m.Value})
			}
			continue
		}
		fields = append(fields, f)
	}
	return fields, faults
}
