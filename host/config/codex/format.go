package codex

import (
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

const serversKey = "mcp_servers"

// Format returns the format of the config.toml of Codex, called "codex".
func Format() config.Format { return format{} }

type format struct{}

func (format) Name() string { return "codex" }

func (f format) Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:   f.Name(),
		Syntax: dialect.Syntax{Name: "TOML", Extensions: []string{".toml"}, Parse: parse},
		Like: func(_ string, root *jsonc.Node) dialect.Likeness {
			if root.Member(serversKey) != nil {
				return dialect.Certain
			}
			return dialect.Foreign
		},
		Sections:  sections,
		Write:     writing,
		Translate: translate,
		Keys: []string{"env_vars", "bearer_token_env_var", "http_headers", "env_http_headers", "startup_timeout_sec",
			"startup_timeout_ms", "tool_timeout_sec", "enabled_tools", "disabled_tools"},
		Words:   map[string]string{"headers": "http_headers"},
		Literal: true,
		Snake:   true,
	}
}

func sections(root *jsonc.Node) ([]dialect.Section, *dialect.Fault) {
	m := root.Member(serversKey)
	switch {
	case m == nil:
		return nil, &dialect.Fault{Offset: root.Offset,
			Text: "the file has no servers: write them as tables [mcp_servers.NAME]", Absent: true}
	case m.Value.Kind != jsonc.Object:
		return nil, &dialect.Fault{Offset: m.Value.Offset, At: serversKey,
			Text: "must be tables [mcp_servers.NAME], not " + m.Value.Kind.String()}
	}
	return []dialect.Section{dialect.Named(&m.Value, serversKey)}, nil
}

// translate reads one table.
func translate(e *dialect.Entry) ([]dialect.Field, []dialect.Fault) {
	t := translator{}
	keys := map[string]string{
		"http_headers": "headers", "startup_timeout_sec": "connectTimeoutSeconds", "tool_timeout_sec": "readTimeoutSeconds",
		"startup_timeout_ms": dialect.ConnectMilliseconds, "enabled_tools": "includeTools", "disabled_tools": "disabledTools",
		"scopes": dialect.Scopes,
	}
	if e.Value.Member("type") == nil && e.Value.Member("transport") == nil {
		keys["url"] = "httpUrl" // Codex has no other remote transport
	}
	for _, f := range dialect.Fields(e, keys) {
		switch f.Key {
		case "env_vars":
			t.passed(f)
		case "env_http_headers":
			t.headers(f)
		case "bearer_token_env_var":
			t.bearer(f)
		case "bearer_token":
			t.fail(f.Offset, f.At, "is refused by Codex too: put the token into a variable, and its name into \"bearer_token_env_var\"")
		case "tools":
			// Codex has one table for each tool there, and we three keys.
			f.Foreign = !ours(f.Value)
			t.fields = append(t.fields, f)
		case "oauth_resource", "default_tools_approval_mode", "supports_parallel_tool_calls", "environment_id":
			f.Foreign = true
			t.fields = append(t.fields, f)
		default:
			t.fields = append(t.fields, f)
		}
	}
	return append(t.first, t.fields...), t.faults
}

// ours reports whether a section "tools" has the keys of package config only.
func ours(n *jsonc.Node) bool {
	for _, m := range n.Members {
		switch m.Key {
		case "allow", "deny":
			if m.Value.Kind != jsonc.Array {
				return false
			}
		case "rename":
		default:
			return false
		}
	}
	return true
}

// A translator collects what a table says.
type translator struct {
	first  []dialect.Field // which the others win over
	fields []dialect.Field
	faults []dialect.Fault
}

func (t *translator) fail(offset int, at jsonc.Path, text string) {
	t.faults = append(t.faults, dialect.Fault{Offset: offset, At: at, Text: text})
}

// passed reads the names of variables that the server gets from our environment: as
// strings, or as tables with a name. Those of "env" come after and win.
func (t *translator) passed(f dialect.Field) {
	if f.Value.Kind != jsonc.Array {
		t.fail(f.Value.Offset, f.At, "must be an array of names of variables, not "+f.Value.Kind.String())
		return
	}
	for i := range f.Value.Elems {
		n, at := &f.Value.Elems[i], f.At.Index(i)
		if m := n.Member("name"); m != nil {
			if source := n.Member("source"); source != nil && source.Value.Text != "local" {
				continue // of another machine
			}
			n, at = &m.Value, at.Key("name")
		}
		if v, ok := t.variable(n, at); ok {
			field := dialect.Field{Key: "env", Written: f.Written, Name: n.Text, At: at, Offset: n.Offset, Value: v, Optional: true}
			t.first = append(t.first, field)
		}
	}
}

// headers reads headers that variables hold.
func (t *translator) headers(f dialect.Field) {
	if f.Value.Kind != jsonc.Object {
		t.fail(f.Value.Offset, f.At, "must be a table of headers and names of variables, not "+f.Value.Kind.String())
		return
	}
	for i := range f.Value.Members {
		m := &f.Value.Members[i]
		at := f.At.Key(m.Key)
		if v, ok := t.variable(&m.Value, at); ok {
			t.fields = append(t.fields, dialect.Field{Key: "headers", Written: f.Written, Name: m.Key, At: at, Offset: m.Offset, Value: v, Optional: true})
		}
	}
}

func (t *translator) bearer(f dialect.Field) {
	if v, ok := t.variable(f.Value, f.At); ok {
		v.Text = "Bearer " + v.Text
		t.fields = append(t.fields, dialect.Field{Key: "headers", Written: f.Written, Name: "Authorization", At: f.At, Offset: f.Offset, Value: v})
	}
}

// variable returns the reference to the variable that n names.
func (t *translator) variable(n *jsonc.Node, at jsonc.Path) (*jsonc.Node, bool) {
	v, fault := dialect.Variable(n, at)
	if fault != nil {
		t.faults = append(t.faults, *fault)
		return nil, false
	}
	return v, true
}
