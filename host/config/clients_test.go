package config

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// lookup is the environment of the tests.
func lookup(name string) (string, bool) {
	value, ok := map[string]string{
		"API_TOKEN": "tok-123",
		"DSN":       "postgres://u:p@db/$API_TOKEN", // must not be expanded again
		"EMPTY":     "",
		"LINES":     "one\r\ntwo",
		"NUL":       "a\x00b",
		"_x1":       "under",
	}[name]
	return value, ok
}

// TestClients reads one file of each program that has this format.
func TestClients(t *testing.T) {
	here := assert.Value(filepath.Abs("testdata"))(t)
	for _, test := range []struct {
		file     string
		want     []Server
		warnings []string
	}{
		{
			file: "claude_desktop_config.json",
			want: []Server{{
				Name: "filesystem", Title: "filesystem", Source: Source{Line: 4}, Transport: "stdio", Enabled: true,
				Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/home/ann/Desktop"},
			}, {
				Name: "Brave_Search", Title: "Brave Search", Source: Source{Line: 8}, Transport: "stdio", Enabled: true,
				Command: "docker", Args: []string{"run", "-i", "--rm", "-e", "BRAVE_API_KEY", "mcp/brave-search"},
				Env: map[string]Secret{"BRAVE_API_KEY": "literal-key"},
			}},
		},
		{
			file: "claude_code.mcp.json",
			want: []Server{{
				Name: "db", Title: "db", Source: Source{Line: 3}, Transport: "stdio", Enabled: true,
				Command: "/opt/tools/db-server", Args: []string{"--dsn", "postgres://u:p@db/$API_TOKEN"},
				Env: map[string]Secret{"CACHE": "/tmp", "PLAIN": "5$ off"},
			}, {
				Name: "api", Title: "api", Source: Source{Line: 9}, Transport: "http", Enabled: true,
				URL: "https://api.example.com/mcp", Headers: map[string]Secret{"Authorization": "Bearer tok-123"},
				ReadTimeout: 10 * time.Minute,
				Auth:        &Auth{ClientID: "abc", RedirectURL: "http://localhost:8080/callback"},
				Extra:       map[string]json.RawMessage{"oauth": json.RawMessage(`{"clientId":"abc","callbackPort":8080}`)},
			}, {
				Name: "old", Title: "old", Source: Source{Line: 16}, Transport: "sse", Enabled: true,
				URL: "https://old.example.com/sse",
			}},
		},
		{
			file: "cursor.mcp.json",
			want: []Server{{
				Name: "local", Title: "local", Source: Source{Line: 4}, Transport: "stdio", Enabled: true,
				Command: "python", Args: []string{"server.py"}, Cwd: filepath.Join(here, "tools"),
				Env: map[string]Secret{"API_KEY": "tok-123"},
			}, {
				Name: "remote", Title: "remote", Source: Source{Line: 11}, Transport: "auto", Enabled: true,
				URL: "http://localhost:3000/mcp", Headers: map[string]Secret{"X-Key": "tok-123"},
				Auth: &Auth{ClientID: "id", Scopes: []string{"read"}},
			}},
		},
		{
			file: "windsurf_mcp_config.json",
			want: []Server{{
				Name: "github", Title: "github", Source: Source{Line: 3}, Transport: "stdio", Enabled: true,
				Command: "npx", Args: []string{"-y", "server-github"},
				Env:   map[string]Secret{"GITHUB_TOKEN": "file-token"},
				Tools: ToolFilter{Deny: []string{"delete_repository"}},
			}, {
				Name: "figma_dev", Title: "figma.dev", Source: Source{Line: 9}, Transport: "auto", Enabled: false,
				URL: "https://mcp.figma.example/mcp", Headers: map[string]Secret{"API_KEY": "Bearer tok-123"},
			}},
		},
		{
			file: "gemini_settings.json",
			want: []Server{{
				Name: "py", Title: "py", Source: Source{Line: 5}, Transport: "stdio", Enabled: true,
				Command: "python", Args: []string{"-m", "my_server"}, Cwd: filepath.Join(here, "servers", "py"),
				Env:         map[string]Secret{"KEY": "tok-123", "DB": "postgres://u:p@db/$API_TOKEN"},
				ReadTimeout: 15 * time.Second, Trust: true,
				Tools: ToolFilter{Allow: []string{"read", "run"}, Deny: []string{"write"}},
			}, {
				Name: "stream", Title: "stream", Source: Source{Line: 15}, Transport: "http", Enabled: false,
				URL: "http://localhost:3000/mcp", ReadTimeout: 5 * time.Second,
			}, {
				Name: "events", Title: "events", Source: Source{Line: 16}, Transport: "auto", Enabled: false,
				URL: "http://localhost:8080/sse", Description: "old one",
			}},
		},
		{
			file: "cline_mcp_settings.json",
			want: []Server{{
				Name: "weather", Title: "weather", Source: Source{Line: 3}, Transport: "stdio", Enabled: true,
				Command: "node", Args: []string{"build/index.js"}, Env: map[string]Secret{},
				ReadTimeout: time.Minute,
			}, {
				Name: "linear", Title: "linear", Source: Source{Line: 11}, Transport: "http", Enabled: true,
				URL: "https://mcp.linear.example/mcp",
			}},
		},
		{
			file: "mcpbelt.jsonc",
			want: []Server{{
				Name: "all", Title: "all", Source: Source{Line: 4}, Transport: "auto", Enabled: true, Description: "all keys",
				URL: "https://example.com/mcp?key=tok-123", ConnectTimeout: 2500 * time.Millisecond, ReadTimeout: 90 * time.Second,
				Trust: true, Lazy: true, Required: true,
				Tools:       ToolFilter{Allow: []string{"read", "list"}, Deny: []string{"list"}, Rename: map[string]string{"read": "get"}},
				IdleTimeout: 10 * time.Minute, Builtin: true, Quarantined: true, Ledger: LedgerReview, Identity: IdentityHeader, UserHeader: "X-User",
				Auth: &Auth{ClientID: "id", ClientSecret: "tok-123", Scopes: []string{"a", "b"},
					Issuer: "https://login.example.com", RedirectURL: "http://127.0.0.1:7777/back"},
				Limits: Limits{MaxTools: 10, MaxInFlight: 4, MaxQueued: -1, MaxMessage: 1 << 20},
				Extra:  map[string]json.RawMessage{"note": json.RawMessage(`{"ratio":1.50}`)},
			}, {
				Name: "boxed", Title: "boxed", Source: Source{Line: 29}, Transport: "stdio", Enabled: true, Command: "node",
				Isolation: &Isolation{Kind: IsolationDocker, Image: "node:22-slim", Network: true, Args: []string{"--memory=1g"},
					Mounts: []Mount{{Path: filepath.Join(here, "data")}, {Path: "/srv/in", Target: "/in", Write: true}}},
			}, {
				Name: "off", Title: "off", Source: Source{Line: 36}, Transport: "stdio", Enabled: false, Command: "./bin/off",
			}},
		},
	} {
		t.Run(test.file, func(t *testing.T) {
			path := filepath.Join("testdata", test.file)
			c := assert.Value(Load(t.Context(), path, &Options{Lookup: lookup}))(t)
			assert.Equal(t, c.Path, path, "Path =")
			assert.Equal(t, len(c.Servers), len(test.want))
			for i, got := range c.Servers {
				want := test.want[i]
				want.Source.File, want.Source.Format, want.Source.Scope = path, "mcpServers", ScopeProgram
				want.fingerprint = got.fingerprint // TestFingerprint has it
				want.references = got.references   // TestReferences has them
				want.templates = got.templates     // TestWritten has them
				want.secrets = got.secrets         // TestServerShowsWhatIsWritten has them
				want.Warnings = got.Warnings       // TestWarningsOfAnEntry has them
				if !reflect.DeepEqual(*got, want) {
					t.Errorf("server %d:\n got %s\nwant %s\nerr %v", i, bare(*got), bare(want), got.Err)
				}
			}
			var warnings []string
			for _, w := range test.warnings {
				warnings = append(warnings, path+w)
			}
			if got := texts(c.Warnings); !reflect.DeepEqual(got, warnings) {
				t.Errorf("warnings %q, want %q", got, warnings)
			}
		})
	}
}

// bare prints a server with its secrets, which these tests invent.
func bare(s Server) string {
	type plain Server
	data, err := json.Marshal(plain(s))
	if err != nil {
		return err.Error()
	}
	for _, m := range []map[string]Secret{s.Env, s.Headers} {
		for key, value := range m {
			data = append(data, " "+key+"="+value.Reveal()...)
		}
	}
	return string(data)
}

func texts(errs []*Error) []string {
	var list []string
	for _, err := range errs {
		list = append(list, err.Error())
	}
	return list
}
