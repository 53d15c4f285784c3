package goose

import (
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

const continueKey = "mcpServers"

// Continue returns the format of the config.yaml of Continue, called "continue": a list
// "mcpServers" of servers with names.
func Continue() config.Format { return continueFormat{} }

type continueFormat struct{}

func (continueFormat) Name() string { return "continue" }

func (f continueFormat) Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   f.Name(),
		Syntax: dialect.Syntax{Name: "YAML", Extensions: []string{".yaml", ".yml"}, Parse: parse},
		Like: func(filename string, root *jsonc.Node) dialect.Likeness {
			m := root.Member(continueKey)
			switch {
			case m != nil && m.Value.Kind == jsonc.Array:
				return dialect.Certain
			case m == nil && strings.Contains(filepath.ToSlash(filename), ".continue/"): // which says what is missing
				return dialect.Possible
			}
			return dialect.Foreign
		},
		Sections:  continueSections,
		Write:     writesContinue,
		Translate: continueFields,
		Keys:      []string{"apiKey", "requestOptions", "connectionTimeout", "faviconUrl", "serverName", "sourceFile"},
		Literal:   true,
	}
}

// continueSections returns the servers, without those that stand elsewhere and are only
// used here.
func continueSections(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
	m := root.Member(continueKey)
	switch {
	case m == nil:
		return nil, &dialect.Fault{Offset: root.Offset,
			Text: "the file has no servers: put them into a list \"mcpServers\"", Absent: true}
	case m.Value.Kind == jsonc.Null:
		return nil, nil
	case m.Value.Kind != jsonc.Array:
		return nil, &dialect.Fault{Offset: m.Value.Offset, At: continueKey,
			Text: "must be a list of servers with names, not " + m.Value.Kind.String()}
	}
	section := dialect.Listed(&m.Value, continueKey)
	entries := section.Entries[:0]
	for _, e := range section.Entries {
		if e.Value.Member("uses") == nil {
			entries = append(entries, e)
		}
	}
	section.Entries = entries
	return []dialect.Section{section}, nil
}

// continueFields reads one server.
func continueFields(e *dialect.Entry) ([]dialect.Field, []dialect.Fault) {
	var fields []dialect.Field
	var faults []dialect.Fault
	for _, f := range dialect.Fields(e, map[string]string{"name": "", "connectionTimeout": dialect.ConnectMilliseconds}) {
		switch {
		case f.Key == "faviconUrl" || f.Key == "serverName" || f.Key == "sourceFile":
			f.Foreign = true
		case f.Key == "apiKey" && f.Value.Kind == jsonc.String:
			f.Key, f.Name = "headers", "Authorization"
			f.Value = dialect.Text(f.Value, "Bearer "+f.Value.Text)
		case f.Key == "apiKey":
			faults = append(faults, dialect.Fault{Offset: f.Value.Offset, At: f.At, Text: "must be a string, not " + f.Value.Kind.String()})
		case f.Key == "requestOptions" && f.Value.Kind == jsonc.Object:
			inner := dialect.Entry{At: f.At, Offset: f.Offset, Value: f.Value}
			for _, g := range dialect.Fields(&inner, nil) {
				if g.Key == "headers" { // the rest is Continue's own
					fields = append(fields, g)
				}
			}
			continue
		}
		fields = append(fields, f)
	}
	return fields, faults
}

// writesContinue says how the servers of Continue are written.
func writesContinue(*jsonc.Node) *dialect.Writing {
	return &dialect.Writing{
		Edit:      &dialect.Edit{Set: set, Remove: remove, Rename: rename, Empty: "mcpServers: []\n"},
		Container: []string{continueKey},
		Keys: map[string]string{
			"transport": "type", "command": "command", "args": "args", "env": "env", "cwd": "cwd", "url": "url",
			"headers": "requestOptions/headers", "connectTimeoutSeconds": "connectionTimeout",
		},
		Transports:   map[string]string{"stdio": "stdio", "http": "streamable-http", "sse": "sse"},
		Milliseconds: true,
		References:   dialect.SecretRefs,
		Notes: map[string]string{
			"connectTimeoutSeconds": "is called connectionTimeout there, in milliseconds",
			"enabled":               "has no place in Continue, which would start the server: leave it out there",
		},
	}
}
