package codex

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Format returns the format of the config.toml of Codex, called "codex".
func Format() *config.Format {
	return &dialect.Dialect{
		Name:   "codex",
		Syntax: dialect.Syntax{Extensions: []string{".toml"}, Parse: parse, Edit: edits()},
		Key:    "mcp_servers",
		Absent: "the file has no servers: write them as tables [mcp_servers.NAME]",
		Words: "command args env cwd url headers=http_headers enabled required " +
			"connectTimeoutSeconds=startup_timeout_sec readTimeoutSeconds=tool_timeout_sec tools tools.allow=enabled_tools tools.deny=disabled_tools",
		Renames:   map[string]string{"startup_timeout_ms": dialect.ConnectMilliseconds, "scopes": dialect.Scopes},
		Foreign:   []string{"default_tools_approval_mode", "supports_parallel_tool_calls", "environment_id"},
		Keys:      []string{"env_vars", "bearer_token_env_var", "env_http_headers"},
		Translate: translate,
		Literal:   true,
		Snake:     true,
		Writes: dialect.Writing{
			Transports: map[string]string{"stdio": "", "http": ""},
			URL:        "http",
			Notes:      map[string]string{"transport": "is told by the keys there: a url is streamable HTTP"},
		},
	}
}

// translate reads one table.
func translate(e *dialect.Entry, found []dialect.Field) (fields []dialect.Field, faults []dialect.Fault) {
	var passed []dialect.Field
	for _, f := range found {
		switch f.Key {
		case "url":
			if e.Value.Member("type") == nil && e.Value.Member("transport") == nil {
				f.Key = "httpUrl" // Codex has no other remote transport
			}
		case "env_vars":
			passed, faults = f.Variables(faults)
			for i := range passed {
				passed[i].Optional = true
			}
			continue
		case "env_http_headers":
			if f.Value.Kind != jsonc.Object {
				faults = append(faults, dialect.Fault{Offset: f.Value.Offset, At: f.At,
					Text: "must be a table of headers and names of variables, not " + f.Value.Kind.String()})
			}
			for i := range f.Value.Members {
				m := &f.Value.Members[i]
				v, fault := dialect.Variable(&m.Value, f.At.Key(m.Key))
				if fault != nil {
					faults = append(faults, *fault)
					continue
				}
				fields = append(fields, dialect.Field{Key: "headers", Written: f.Written, Name: m.Key, At: f.At.Key(m.Key), Offset: m.Offset, Value: v, Optional: true})
			}
			continue
		case "bearer_token_env_var":
			v, fault := dialect.Variable(f.Value, f.At)
			if fault != nil {
				faults = append(faults, *fault)
				continue
			}
			f.Key, f.Name, f.Value = "headers", "Authorization", dialect.Text(v, "Bearer "+v.Text)
		case "bearer_token":
			faults = append(faults, dialect.Fault{Offset: f.Offset, At: f.At,
				Text: "is refused by Codex too: put the token into a variable, and its name into \"bearer_token_env_var\""})
			continue
		case "tools":
			// Codex has one table for each tool there, and we three keys.
			f.Foreign = slices.ContainsFunc(f.Value.Members, func(m jsonc.Member) bool {
				return m.Key != "rename" && (m.Key != "allow" && m.Key != "deny" || m.Value.Kind != jsonc.Array)
			})
		case "oauth_resource", "auth":
			if f.Key == "oauth_resource" || f.Value.Kind == jsonc.String && f.Value.Text != "oauth" { // it is not ours
				faults = append(faults, dialect.Fault{Offset: f.Offset, At: f.At, Warning: true,
					Text: "is ignored: the server says which resource it is, and users log in by OAuth"})
				f.Foreign = true
			}
		}
		fields = append(fields, f)
	}
	return append(passed, fields...), faults // of two that set a variable the last one counts
}
