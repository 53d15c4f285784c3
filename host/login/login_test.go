package login_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/codex"
	"github.com/mcpbelt/mcpbelt/host/config/goose"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An entry that sends credentials of its own gets no handler that would send others.
func TestNoHandlerWhereNobodyLogsIn(t *testing.T) {
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"}}))(t)
	defer func() { _ = logins.Close() }()
	for _, entry := range []*config.Server{
		nil,
		{Name: "s", Transport: config.TransportStdio, Command: "x"},
		{Name: "s", Transport: config.TransportHTTP, URL: "https://s.example", Auth: &config.Auth{Off: true}},
		{Name: "s", Transport: config.TransportHTTP, URL: "https://s.example", Headers: map[string]config.Secret{"authorization": "Bearer x"}},
	} {
		assert.True(t, logins.Handler(session.Key{Server: "s"}, entry) == nil, "no handler")
	}
}

// The secret of a client goes to no one but the authorization server that the file names.
func TestSecretNeedsIssuer(t *testing.T) {
	for file, entry := range map[string]string{
		//report: Config files | PipesHub https://docs.pipeshub.com/mcp/cursor.md, cursor/plugins#201 | a block for Cursor has a client and its secret, and does not say whose they are | no login begins: the secret goes to no server that another one names; the error says to add "auth": {"issuer": ...}, which works beside the block
		".cursor/mcp.json": `"auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "hunter2"ISSUER}`,
		//report: Config files | PipesHub https://docs.pipeshub.com/mcp/gemini-cli.md | a block for Gemini CLI has a client and its secret, and no endpoints | likewise
		".gemini/settings.json": `"oauth": {"clientId": "c", "clientSecret": "hunter2"}OWN`,
	} {
		for _, named := range []bool{false, true} {
			text := strings.NewReplacer("ISSUER", "", "OWN", "").Replace(entry)
			if named {
				text = strings.NewReplacer("ISSUER", `, "issuer": "https://as.example"`, "OWN", `, "auth": {"issuer": "https://as.example"}`).Replace(entry)
			}
			c := assert.Value(config.Parse(t.Context(), file, []byte(`{"mcpServers": {"s": {"type": "http", "url": "http://127.0.0.1:9/mcp", `+text+`}}}`), &config.Options{Scope: config.ScopeUser}))(t)
			logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"}}))(t)
			logins.Use(c.Servers[0])
			_, err := logins.Sessions().Login(t.Context(), session.Key{Server: "s"})
			assert.OK(t, logins.Close())
			assert.Fails(t, err)
			assert.Equal(t, strings.Contains(err.Error(), `add "auth": {"issuer": "https://..."} to the entry`), !named, "%s: %v", file, err)
			assert.Lacks(t, err.Error(), "hunter2")
		}
	}
}

// loginKeys returns a value of each key by which a file speaks of logins: ours, and those of
// others.
func loginKeys(t *testing.T) map[string]string {
	keys := map[string]string{ // of others
		"CLIENT_ID": `"c"`, "client_id": `"c"`, "CLIENT_SECRET": `"s"`, "client_secret": `"s"`, "scope": `"a b"`, "redirectUri": `"http://127.0.0.1:7/x"`,
		"callback_url": `"http://127.0.0.1:7/x"`, "callbackPort": `7`, "callback_port": `7`, "registrationUrl": `"https://x/r"`, "audiences": `["a"]`,
		"enabled": `false`, "tokenParamName": `"t"`, "authServerMetadataUrl": `"https://other/.well-known/openid-configuration"`, "xaa": `true`, "use_pkce": `false`,
	}
	values := map[string]string{"scopes": `["a"]`, "grant": `"device_code"`, "loginParams": `{"a": "b"}`, "authMethod": `"client_secret_post"`}
	for i := range reflect.TypeFor[config.Auth]().NumField() {
		f := reflect.TypeFor[config.Auth]().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case values[name] != "":
			keys[name] = values[name]
		case f.Type.Kind() == reflect.Bool:
			keys[name] = `true`
		case strings.HasSuffix(name, "Url"):
			keys[name] = `"http://localhost:9/` + name + `"`
		default:
			keys[name] = `"https://` + name + `"`
		}
	}
	return keys
}

// effect returns all that an entry has users log in with, and whether it can be used.
func effect(t *testing.T, s *config.Server) string {
	var got auth.Config
	logins := assert.Value(login.New(session.Memory(), &login.Options{Configure: func(_ *config.Server, c *auth.Config) error { got = *c; return nil }}))(t)
	defer func() { _ = logins.Close() }()
	logins.Use(s)
	client, authority := auth.Client{}, auth.Authority{}
	if got.Client != nil {
		client = *got.Client
	}
	if got.Authority != nil {
		authority = *got.Authority
	}
	got.Client, got.Authority = nil, nil
	return fmt.Sprintf("%v\n%+v\n%+v %s\n%+v\n%s", s.Err, got, client, client.Secret.Reveal(), authority, s.NoLogin())
}

// TestEachKeyHasAnEffectOrAWarning puts each key of a login into files of each format, beside
// whatever else can stand there: it changes how users log in, or a warning or a fault names its
// section.
func TestEachKeyHasAnEffectOrAWarning(t *testing.T) {
	formats := []*config.Format{codex.Format(), goose.Format()}
	files := []struct{ name, text, url, sections string }{
		{".mcp.json", `{"mcpServers": {"s": {%s}}}`, "url", "auth oauth"},
		{".cursor/mcp.json", `{"mcpServers": {"s": {%s}}}`, "url", "auth"},
		{".gemini/settings.json", `{"mcpServers": {"s": {%s}}}`, "httpUrl", "oauth"},
		{".vscode/mcp.json", `{"servers": {"s": {%s}}}`, "url", "oauth"},
		{"opencode.json", `{"mcp": {"s": {"type": "remote", %s}}}`, "url", "oauth"},
		{"config.toml", "[mcp_servers]\ns = {%s}\n", "url", "auth oauth"},
		{"config.yaml", "extensions:\n  s: {\"type\": \"streamable_http\", %s}\n", "uri", "oauth"},
	}
	places := []string{`"URL": "https://x.example/mcp"`, `"URL": "https://x.example/mcp", "headers": {"Authorization": "Bearer x"}`, `"command": "x"`}
	besides := []string{``, `"clientId": "c"`, `"clientId": "c", "clientSecret": "s", "issuer": "https://as"`, `"clientId": "c", "redirectUrl": "http://127.0.0.1:5/x"`,
		`"authorizationUrl": "https://as/a", "tokenUrl": "https://as/t"`, `"grant": "device_code"`, `"loginParams": {"prompt": "login"}`, `"off": true`}
	read := func(name, text string) *config.Server {
		if strings.HasSuffix(name, ".toml") {
			text = strings.ReplaceAll(text, `": `, `" = `)
		}
		return assert.Value(config.Parse(t.Context(), name, []byte(text), &config.Options{Formats: formats, Scope: config.ScopeUser}))(t).Servers[0]
	}
	tried, share := 0, assert.Cases(2, 1)
	for f, file := range files {
		for _, place := range places[:assert.Cases(2, 3)] {
			place = strings.ReplaceAll(place, "URL", file.url)
			for _, section := range strings.Fields(file.sections) {
				for b, beside := range besides {
					if (f+b)%share != 0 {
						continue // another file has it
					}
					entry := func(section, members string) string {
						return fmt.Sprintf(file.text, place+fmt.Sprintf(`, "%s": {%s}`, section, strings.Trim(members, ", ")))
					}
					before := read(file.name, entry(section, beside))
					was := effect(t, before)
					for key, value := range loginKeys(t) {
						if strings.Contains(beside, `"`+key+`"`) || key == "enabled" && strings.Contains(beside, "off") {
							continue
						}
						tried++
						s := read(file.name, entry(section, beside+`, "`+key+`": `+value))
						if effect(t, s) != was || len(s.Warnings) > len(before.Warnings) {
							continue
						}
						// One warning is of the whole section where no user logs in.
						assert.True(t, s.NoLogin() != "" && len(s.Warnings) > 0, "%s: %s: an effect or a warning", file.name, entry(section, beside+`, "`+key+`": `+value))
					}
				}
			}
		}
	}
	assert.True(t, tried > 1000, "got %d cases", tried)
}
