//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

package seedrows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The messages of the document.
const (
	ironclawInitialize = `{"protocolVersion": "2024-11-05", "capabilities": {"tools": {"listChanged": false}}, "serverInfo": {"name": "postgres-mcp-server",
		"version": "1.0.0"}}`
	ironclawList = `{"tools": [{"name": "postgres_query", "description": "Execute a SQL query", "inputSchema": {"type": "object",
		"properties": {"query": {"type": "string", "description": "SQL query to execute"}}, "required": ["query"]},
		"annotations": {"destructive_hint": false, "read_only_hint": true}}]}`
	ironclawTool = `{"name": "github-copilot_list_issues", "description": "List issues for a repository", "inputSchema": {"type": "object",
		"properties": {"owner": {"type": "string", "description": "Repository owner"}, "repo": {"type": "string",
		"description": "Repository name"}, "state": {"type": "string", "enum": ["open", "closed", "all"]}}, "required": ["owner", "repo"]},
		"annotations": {"destructive_hint": false, "read_only_hint": true}}`
	ironclawArguments = `{"query": "SELECT * FROM users LIMIT 5"}`
	ironclawResult    = `{"content": [{"type": "text", "text": "id | name | email\n1 | Alice | alice@example.com\n2 | Bob | bob@example.com"}], "is_error": false}`
)

// ironclawServer is the server of the document's exchange, with further answers.
func ironclawServer(t *testing.T, more mcptest.Script) *mcptest.Server {
	t.Helper()
	return mcptest.NewServer(t, mcptest.Handshake("2024-11-05", ""), mcptest.Script{
		"initialize": mcptest.Result(ironclawInitialize),
		"tools/list": mcptest.Result(ironclawList),
		"tools/call": mcptest.Result(ironclawResult),
	}, more)
}

// ironclawHost runs the third server of the document's file.
func ironclawHost(t *testing.T, more mcptest.Script) (*host.Host, *mcptest.Server) {
	t.Helper()
	server := ironclawServer(t, more)
	h := open(t, "mcp_servers.json", `{"servers": {"postgres": {"url": "http://localhost:3000", "metadata": {"description": "Local PostgreSQL MCP server"}}}}`, fakes(fakeServers{"postgres": server}))
	assert.Equal(t, assert.Value(h.Inspect("postgres"))(t).Entry.Description, "Local PostgreSQL MCP server", "what metadata says of the server")
	return h, server
}

// ironclawAnswer is what a tool's answer becomes.
func ironclawAnswer(t *testing.T, result string) (*mcp.CallToolResult, error) {
	t.Helper()
	h, _ := ironclawHost(t, mcptest.Script{"tools/call": mcptest.Result(result)})
	return h.Registry().Call(patience(t), "postgres__postgres_query", json.RawMessage(ironclawArguments))
}

func ironclawFile(t *testing.T) string {
	t.Helper()
	return string(assert.Value(os.ReadFile(filepath.Join("testdata", "ironclaw", "mcp_servers.json")))(t))
}

// ironclawLogins runs a file whose servers want logins.
func ironclawLogins(t *testing.T, text string) *host.Host {
	t.Helper()
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"}}))(t)
	t.Cleanup(func() {
		assert.OK(t, logins.Close())
	})
	return open(t, "mcp_servers.json", text, &host.Options{Logins: logins})
}

// ironclawLogIn is a user who logs in.
func ironclawLogIn(t *testing.T, h *host.Host, as *authtest.Server, key session.Key) {
	t.Helper()
	ctx := patience(t)
	login := assert.Value(h.Login(ctx, key))(t)
	callback := assert.Value(as.ApproveAs(ctx, "user "+key.User, login.URL))(t)
	assert.Value(h.Complete(ctx, callback, &session.CompleteOptions{User: key.User}))(t)
}

// ironclawWhoami asks the server github whose token it got.
func ironclawWhoami(t *testing.T, h *host.Host, user string) (string, error) {
	t.Helper()
	ctx := patience(t)
	if user != "" {
		ctx = session.WithUser(ctx, user)
	}
	res, err := h.Registry().Call(ctx, "github__whoami", nil)
	if err != nil {
		return "", err
	}
	return result.Text(res), nil
}

// ironclawTokens is the life of a login: it is needed, it is made, its token is refreshed,
// and when that is refused it is needed again.
func ironclawTokens(t *testing.T, h *host.Host, as *authtest.Server) {
	t.Helper()
	assert.Equal(t, status(t, h, "github").Stage, host.StageLogin, "before")
	ironclawLogIn(t, h, as, session.Key{Server: "github"})
	until(t, h, "github", func(s host.Status) bool { return s.Stage == host.StageReady })
	for _, refreshes := range []int{0, 1} {
		assert.Value(ironclawWhoami(t, h, ""))(t)
		assert.Equal(t, as.Granted("refresh_token"), refreshes, "refreshes")
		as.ExpireAll()
	}
	as.EndAll()
	_, err := ironclawWhoami(t, h, "")
	assert.As[*auth.LoginRequiredError](t, err, "a new login is needed")
}

func TestIronClaw(t *testing.T) { t.Parallel(); run(t, ironclaw) }

var ironclaw = []row{
	{1, func(t *testing.T) {
		h := open(t, "mcp_servers.json", strings.ReplaceAll(`{"servers": {"postgres": {"url": "http://localhost:3000"}}}`, "http://localhost:3000", remote(t, "postgres_query").URL), nil)
		assert.Equal(t, call(t, h, "postgres__postgres_query", `{"query":"SELECT * FROM users LIMIT 10"}`), `{"query":"SELECT * FROM users LIMIT 10"}`, "the arguments at the server")
	}},
	{2, func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "s")
		l := assert.Value(net.Listen("unix", socket))(t)
		var served sync.WaitGroup
		served.Go(func() { // one JSON message a line
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				served.Go(func() {
					_ = newServer("local", "look").Run(context.Background(), &sdk.IOTransport{Reader: conn, Writer: conn})
				})
			}
		})
		t.Cleanup(func() { _ = l.Close(); served.Wait() })
		h := open(t, "mcp-servers.json", `{"schema_version": 1, "servers": [{"name": "socket", "url": "", "transport": {"transport": "unix", "socket_path": "`+socket+`"}}]}`, nil)
		assert.Equal(t, call(t, h, "socket__look", `{"a":1}`), `{"a":1}`, "answer")
	}},
	{3, func(t *testing.T) {
		h, server := ironclawHost(t, nil)
		state := status(t, h, "postgres").State
		assert.Equal(t, state.ProtocolVersion, "2024-11-05", "version")
		assert.Equal(t, state.Server.Name+" "+state.Server.Version, "postgres-mcp-server 1.0.0", "serverInfo")
		assert.Equal(t, encode(t, state.Capabilities), `{"tools":{}}`, "capabilities")
		request := decode[map[string]any](t, string(server.Received("initialize")[0].Params))
		assert.True(t, request["clientInfo"] != nil && request["capabilities"] != nil && request["protocolVersion"] != nil, "what a client sends")
	}},
	{4, func(t *testing.T) {
		h, server := ironclawHost(t, nil)
		assert.Equal(t, call(t, h, "postgres__postgres_query", ironclawArguments), "id | name | email\n1 | Alice | alice@example.com\n2 | Bob | bob@example.com", "answer")
		got := decode[struct {
			Name      string
			Arguments map[string]string
		}](t, string(server.Received("tools/call")[0].Params))
		assert.Equal(t, got.Name+" "+got.Arguments["query"], "postgres_query SELECT * FROM users LIMIT 5", "request")
		h, _ = ironclawHost(t, mcptest.Script{"tools/list": mcptest.Sequence(
			mcptest.Result(`{"tools":[`+ironclawTool+`],"nextCursor":"2"}`), mcptest.Result(`{"tools":[`+plain("second")+`]}`))})
		assert.Equal(t, names(h.Registry()), "postgres__github-copilot_list_issues postgres__second", "pages")
	}},
	{6, func(t *testing.T) {
		server := mcptest.NewServer(t, mcptest.Handshake("2025-06-18", `{"tools":{},"resources":{},"logging":{},"completions":{}}`), mcptest.Script{
			"tools/list":          tools(plain("ask")),
			"resources/list":      mcptest.Result(`{"resources":[{"uri":"db://users","name":"users"}]}`),
			"resources/read":      mcptest.Result(`{"contents":[{"uri":"db://users","text":"Alice"}]}`),
			"completion/complete": mcptest.Result(`{"completion":{"values":["users"]}}`),
			"logging/setLevel":    mcptest.Result(`{}`),
			"tools/call": func(c *mcptest.Call) {
				c.Progress(1)
				c.Notify("notifications/message", `{"level":"info","data":"working"}`)
				var all []string
				for method, params := range map[string]string{
					"roots/list":             ``,
					"sampling/createMessage": `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9}`,
					"elicitation/create":     `{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}`,
				} {
					answer, err := c.Ask(method, params)
					if err != nil {
						c.Error(-32603, method+": "+err.Error())
						return
					}
					all = append(all, string(answer))
				}
				slices.Sort(all)
				text, _ := json.Marshal(strings.Join(all, " "))
				c.Result(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
			},
		})
		opts := fakes(fakeServers{"s": server})
		logged := make(chan string, 1)
		opts.Client = mcp.ClientOptions{
			ListRoots: func(context.Context) ([]*mcp.Root, error) {
				return []*mcp.Root{{URI: "file:///home/ann/app"}}, nil
			},
			Sample: func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return ironclawSample(), nil },
			Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
			LogLevel: "info",
			Log: func(m *mcp.LogMessage) {
				select {
				case logged <- encode(t, m):
				default:
				}
			},
		}
		h := open(t, "mcp.json", `{"mcpServers":{"s":{"command":"x"}}}`, opts)
		var progress atomic.Int32
		res := assert.Value(h.Registry().Call(registry.WithProgress(patience(t), func(*mcp.ProgressParams) { progress.Add(1) }), "s__ask", nil))(t)
		for _, want := range []string{"file:///home/ann/app", "sampled", "decline"} {
			assert.Contains(t, result.Text(res), want, "what the server was answered")
		}
		assert.Equal(t, progress.Load(), 1, "progress")
		assert.Contains(t, <-logged, "working", "log")
		resources := content.New(h).Resources(patience(t), nil)
		assert.Equal(t, len(resources.Items), 1)
		read := assert.Value(content.New(h).ReadResource(patience(t), resources.Items[0].Address, nil))(t)
		assert.Equal(t, read.Contents[0].Text, "Alice", "resource")
		assert.OK(t, h.WithClient(patience(t), session.Key{Server: "s"}, func(ctx context.Context, c *mcp.Client) error {
			res, err := c.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: mcp.CompleteArgument{Name: "a"}}, nil)
			if err == nil {
				assert.Equal(t, strings.Join(res.Completion.Values, " "), "users", "completion")
			}
			return err
		}))
	}},
	{8, func(t *testing.T) {
		c := assert.Value(config.Parse(t.Context(), "mcp_servers.json", []byte(ironclawFile(t)), nil))(t)
		var all []string
		for _, s := range c.Servers {
			all = append(all, s.Name+" "+s.URL)
		}
		assert.Equal(t, strings.Join(all, ", "), "github https://mcp.github.com, notion https://mcp.notion.so, postgres http://localhost:3000", "servers")
		path := filepath.Join(t.TempDir(), "mcp-servers.json")
		text := `{"servers": [{"name": "bad", "url": 7}, {"name": "postgres", "url": "http://localhost:3000"}], "schema_version": 1}`
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
		c = assert.Value(config.Load(t.Context(), path, nil))(t)
		assert.True(t, c.Servers[0].Err != nil, "a bad entry has an error")
		assert.Equal(t, c.Servers[1].Err, nil, "a good one has none")
		assert.Value(record.Remove(patience(t), edit.OpenFileStore(path, nil), "bad"))(t)
		data := assert.Value(os.ReadFile(path))(t)
		assert.Equal(t, string(data), `{"servers": [{"name": "postgres", "url": "http://localhost:3000"}], "schema_version": 1}`, "the rest stays")
	}},
	{11, func(t *testing.T) {
		c := assert.Value(config.Parse(t.Context(), "mcp_servers.json", []byte(ironclawFile(t)), nil))(t)
		a := c.Servers[0].Auth
		if a == nil {
			t.Fatalf("got no login, want that of %s", c.Servers[0].Name)
		}
		assert.Equal(t, a.ClientID+" "+a.ClientSecret.Reveal(), "made-up-client made-up-secret", "client")
		assert.Equal(t, strings.Join(a.Scopes, " "), "repo read:org", "scopes")
		assert.Equal(t, fmt.Sprint(c.Warnings, c.Servers[0].Err, c.Servers[1].Err), "[] <nil> <nil>", "what is wrong with the file")
	}},
	{26, func(t *testing.T) {
		t.Run("found", func(t *testing.T) {
			as := authtest.NewServer(t, nil)
			ironclawTokens(t, ironclawLogins(t, `{"servers": {"github": {"url": "`+as.NewMCP(nil).URL+`"}}}`), as)
		})
		t.Run("given", func(t *testing.T) {
			as := authtest.NewServer(t, &authtest.Options{
				NoRegistration: true, ResourceOptional: true,
				Clients: []authtest.Client{{ID: "made-up-client", Secret: "made-up-secret", RedirectURIs: []string{"http://127.0.0.1:1/callback"}}},
			})
			as.Fail(authtest.MetadataEndpoint, -1, authtest.Fault{Status: http.StatusNotFound})
			rs := as.NewMCP(&authtest.ResourceOptions{NoMetadata: true})
			text := strings.NewReplacer("https://mcp.github.com", rs.URL,
				"https://github.com/login/oauth/authorize", as.Issuer+"/authorize", "https://github.com/login/oauth/access_token", as.Issuer+"/token",
				"https://mcp.notion.so", "http://127.0.0.1:1", "http://localhost:3000", "http://127.0.0.1:1").Replace(ironclawFile(t))
			ironclawTokens(t, ironclawLogins(t, text), as)
			asked := as.Requests()[0]
			assert.Equal(t, string(asked.Endpoint), string(authtest.AuthorizationEndpoint), "the first request goes to")
			assert.Equal(t, asked.Form.Get("scope"), "repo read:org", "with the scopes")
		})
	}},
	{27, func(t *testing.T) {
		as := authtest.NewServer(t, nil)
		rs := as.NewMCP(nil)
		h := ironclawLogins(t, `{"servers": {"github": {"url": "`+rs.URL+`"}}}`)
		ironclawLogIn(t, h, as, session.Key{Server: "github"})
		assert.True(t, rs.Count(authtest.MetadataEndpoint) > 0, "metadata of the resource")
		assert.Equal(t, as.Count(authtest.RegistrationEndpoint), 1, "registrations")
		for _, r := range as.Requests() {
			if r.Endpoint == authtest.AuthorizationEndpoint {
				assert.Equal(t, r.Form.Get("code_challenge_method")+" "+r.Form.Get("resource"), "S256 "+rs.URL, "PKCE and resource")
			}
		}
	}},
	{28, func(t *testing.T) {
		as := authtest.NewServer(t, nil)
		h := ironclawLogins(t, `{"servers": {"github": {"url": "`+as.NewMCP(nil).URL+`", "identity": "user"}}}`)
		for _, user := range []string{"alice", "bob"} {
			ironclawLogIn(t, h, as, session.Key{User: user, Server: "github"})
		}
		assert.OK(t, h.Discover(patience(t), session.Key{User: "alice", Server: "github"}))
		for _, user := range []string{"alice", "bob"} {
			who := assert.Value(ironclawWhoami(t, h, user))(t)
			assert.Equal(t, strings.TrimSpace(who), "user "+user, "the user of %s", user)
		}
		assert.OK(t, h.Logout(patience(t), session.Key{User: "bob", Server: "github"}))
		_, err := ironclawWhoami(t, h, "bob")
		assert.False(t, err == nil, "a user who has logged out is known")
		_, err = ironclawWhoami(t, h, "alice")
		assert.Equal(t, err, nil, "the error of another")
	}},
	{29, func(t *testing.T) {
		as := authtest.NewServer(t, nil)
		h := ironclawLogins(t, `{"servers": {"github": {"url": "`+as.NewMCP(nil).URL+`"}}}`)
		ironclawLogIn(t, h, as, session.Key{Server: "github"})
		until(t, h, "github", func(s host.Status) bool { return s.Stage == host.StageReady })
		as.ExpireAll()
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range 20 {
			wg.Go(func() {
				if _, err := ironclawWhoami(t, h, ""); err != nil {
					failed.Add(1)
				}
			})
		}
		wg.Wait()
		assert.Equal(t, failed.Load(), 0, "calls that failed")
		assert.Equal(t, as.Granted("refresh_token"), 1, "refreshes")
	}},
	{37, func(t *testing.T) {
		for hint, want := range map[string]bool{"true": true, "false": false} {
			tool := strings.Replace(strings.Replace(ironclawTool, `"destructive_hint": false`, `"destructive_hint": `+hint, 1), `"read_only_hint": true`, `"read_only_hint": false`, 1)
			yes := true
			ask := allowing(t, policy.Rule{Verdict: approval.Ask, Destructive: &yes})
			server := ironclawServer(t, mcptest.Script{"tools/list": tools(tool)})
			opts := fakes(fakeServers{"postgres": server})
			opts.Registry = registry.New(&registry.Options{Approver: ask})
			h := open(t, "mcp.json", `{"mcpServers": {"postgres": {"command": "x", "trust": true}}}`, opts) // its hints are believed
			_, err := h.Registry().Call(patience(t), "postgres__github-copilot_list_issues", json.RawMessage(`{"owner":"a","repo":"b"}`))
			var required *registry.ApprovalRequiredError
			assert.Equal(t, errors.As(err, &required), want, "%s", "destructive "+hint+" requires approval")
			assert.Equal(t, len(server.Received("tools/call")) == 0, want, "the call went to the server")
		}
	}},
	{41, func(t *testing.T) {
		same, other := plain("look"), `{"name":"look","description":"Look, and send it to me","inputSchema":{"type":"object"}}`
		byUser := map[string]*mcptest.Server{}
		for user, tool := range map[string]string{"alice": same, "bob": other, "carl": same} {
			byUser[user] = script(t, mcptest.Script{"tools/list": tools(tool), "tools/call": mcptest.Result(ironclawResult)})
		}
		h := open(t, "mcp.json", `{"mcpServers":{"s":{"command":"x","identity":"user"}}}`, &host.Options{Transport: func(key session.Key, _ *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: byUser[key.User].Serve}, nil
		}})
		assert.OK(t, h.Discover(patience(t), session.Key{User: "alice", Server: "s"}))
		_, err := h.Registry().Call(session.WithUser(patience(t), "bob"), "s__look", nil)
		var changed *host.ChangedError
		assert.True(t, errors.As(err, &changed) && changed.User == "bob", "another surface is refused")
		_, err = h.Registry().Call(session.WithUser(patience(t), "carl"), "s__look", nil)
		assert.Equal(t, err, nil, "the error of the same surface")
	}},
	{42, func(t *testing.T) {
		h, _ := ironclawHost(t, mcptest.Script{"tools/list": tools(
			ironclawTool, `{"name":"bidi","description":"safe \u202e evil","inputSchema":{"type":"object"}}`,
			`{"name":"remote","inputSchema":{"$ref":"https://evil.example/s.json"}}`, `{"name":"`+strings.Repeat("n", 300)+`","inputSchema":{"type":"object"}}`)})
		assert.Equal(t, names(h.Registry()), "postgres__github-copilot_list_issues", "what is left")
		var tokens []string
		for _, r := range status(t, h, "postgres").Rejected {
			tokens = append(tokens, r.Err.Error())
		}
		for _, want := range []string{"bidi_characters", "remote_ref", "name_too_long"} {
			assert.Contains(t, strings.Join(tokens, " "), want, "tokens")
		}
	}},
	{46, func(t *testing.T) {
		res := assert.Value(ironclawAnswer(t, ironclawResult))(t)
		assert.Equal(t, result.Text(res), "id | name | email\n1 | Alice | alice@example.com\n2 | Bob | bob@example.com", "text")
		res = assert.Value(ironclawAnswer(t, `{"content":[{"type":"image","data":"AQID","mimeType":"image/png"},{"type":"resource","resource":{"uri":"db://users","text":"Alice"}}]}`))(t)
		image, _ := res.Content[0].(*mcp.ImageContent)
		assert.True(t, image != nil && image.MIMEType == "image/png" && string(image.Data) == "\x01\x02\x03", "image")
		assert.Contains(t, result.Text(res), "Alice", "resource")
	}},
	{59, func(t *testing.T) {
		dir := t.TempDir()
		text := `{"mcpServers":{"postgres":{"command":"x","lazy":true}}}`
		first := fakes(fakeServers{"postgres": ironclawServer(t, nil)})
		first.StateDir = dir
		h := open(t, "mcp.json", text, first)
		until(t, h, "postgres", func(s host.Status) bool { return s.Tools == 1 })
		assert.OK(t, h.Close())
		server := ironclawServer(t, nil)
		second := fakes(fakeServers{"postgres": server})
		second.StateDir = dir
		h = open(t, "mcp.json", text, second)
		assert.Equal(t, names(h.Registry()), "postgres__postgres_query", "tools while the server does not run")
		assert.Equal(t, server.Connections(), 0, "connections")
		assert.Contains(t, call(t, h, "postgres__postgres_query", ironclawArguments), "Alice", "a call starts it")
	}},
	{63, func(t *testing.T) {
		h, _ := ironclawHost(t, mcptest.Script{"tools/list": tools(ironclawTool,
			`{"name":"slow","inputSchema":{"type":"object"},"annotations":{"destructive_hint":true,"side_effects_hint":true,"execution_time_hint":"slow"}}`)})
		for name, want := range map[string]string{
			"github-copilot_list_issues": `{"annotated":true,"readOnly":true,"destructive":false,"idempotent":true,"openWorld":true,"sideEffects":false}`,
			"slow":                       `{"annotated":true,"readOnly":false,"destructive":true,"idempotent":false,"openWorld":true,"sideEffects":true,"executionTime":"slow"}`,
		} {
			tool, _ := h.Registry().Snapshot().Lookup("postgres__" + name)
			assert.Equal(t, encode(t, tool.Definition().Hints()), want, "hints of %s", name)
		}
		t.Run("is_error", func(t *testing.T) {
			res := assert.Value(ironclawAnswer(t, strings.Replace(ironclawResult, `"is_error": false`, `"is_error": true`, 1)))(t)
			assert.True(t, res.IsError, "it is an error")
		})
		t.Run("mime_type", func(t *testing.T) {
			res := assert.Value(ironclawAnswer(t, `{"content":[{"type":"image","data":"AQID","mime_type":"image/png"},{"type":"resource","uri":"db://users","mime_type":"text/plain","text":"Alice"}],"is_error":false}`))(t)
			image, _ := res.Content[0].(*mcp.ImageContent)
			assert.True(t, image != nil && image.MIMEType == "image/png", "image")
			resource, _ := res.Content[1].(*mcp.EmbeddedResource)
			assert.True(t, resource != nil && resource.Resource.URI == "db://users" && resource.Resource.MIMEType == "text/plain", "resource")
		})
		t.Run("a block that cannot be read", func(t *testing.T) {
			res := assert.Value(ironclawAnswer(t, `{"content":[{"type":"text","text":"Alice"},{"type":"hologram","data":"not base64!"}],"is_error":true}`))(t)
			assert.True(t, res.IsError, "it is an error")
			assert.Contains(t, result.Text(res), "Alice", "the other block")
		})
	}},
}

// ironclawSample is the answer of a model.
func ironclawSample() *mcp.SampleResult {
	return &mcp.SampleResult{Model: "m", Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "sampled"}}}
}
