package admin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

const servers = "/api/v1/mcp/servers"

// expectFields compares the members of an object; "*" stands for any that is not empty.
func expectFields(t *testing.T, what string, got map[string]any, want string) {
	t.Helper()
	var fields map[string]any
	assert.OK(t, json.Unmarshal([]byte(want), &fields))
	for name, value := range fields {
		switch is := got[name]; {
		case value == "*":
			if is == nil || is == "" {
				t.Errorf("%s: got no %s, want one", what, name)
			}
		default:
			a, _ := json.Marshal(is)
			b, _ := json.Marshal(value)
			assert.Equal(t, string(a), string(b), "%s: %s", what, name)
		}
	}
	for name := range got {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s: got the field %s = %v, want none of that name", what, name, got[name])
		}
	}
}

// The requests and answers are those of the documentation of MateClaw, whose clients are served.
func TestSeedRequests(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{})
	got := s.data("POST", servers, `{
    "name": "filesystem",
    "description": "File system read/write tools",
    "transport": "stdio",
    "command": "npx",
    "argsJson": "[\"-y\", \"@anthropic/mcp-filesystem\", \"/home/user/workspace\"]",
    "enabled": true
  }`)
	local := `"id":"*","name":"filesystem","transport":"stdio","command":"npx",
		"argsJson":"[\"-y\",\"@anthropic/mcp-filesystem\",\"/home/user/workspace\"]","builtin":false,"revision":"*","createTime":"*","updateTime":"*",`
	running := `"enabled":true,"lastStatus":"connected","toolCount":1,"lastConnectedTime":"*","stage":"ready"`
	expectFields(t, "create", got, `{`+local+running+`,"description":"File system read/write tools"}`)
	at, _ := got["lastConnectedTime"].(string)
	assert.Equal(t, len(at), len("2026-04-01T10:30:00"), "lastConnectedTime")
	one := servers + "/" + got["id"].(string)
	expectFields(t, "get", s.data("GET", one, ""), `{`+local+running+`,"description":"File system read/write tools"}`)
	expectFields(t, "get by name", s.data("GET", servers+"/filesystem", ""), `{`+local+running+`,"description":"File system read/write tools"}`)

	remote := s.data("POST", servers, `{
    "name": "remote-tools",
    "description": "Remote tool service",
    "transport": "streamable_http",
    "url": "https://mcp.example.com/mcp",
    "headersJson": "{\"Authorization\": \"Bearer your-api-key\"}",
    "connectTimeoutSeconds": 15,
    "readTimeoutSeconds": 60,
    "enabled": true
  }`)
	expectFields(t, "create a remote one", remote, `{"id":"*","name":"remote-tools","description":"Remote tool service","transport":"streamable_http",
		"url":"https://mcp.example.com/mcp","headersJson":"*","connectTimeoutSeconds":15,"readTimeoutSeconds":60,"builtin":false,"revision":"*","createTime":"*","updateTime":"*",`+running+`}`)
	text := remote["headersJson"].(string)
	assert.Lacks(t, text, "your-api-key", "headersJson")
	assert.Contains(t, text, "****", "headersJson")

	expectFields(t, "update", s.data("PUT", one, `{
    "description": "Updated description",
    "readTimeoutSeconds": 60
  }`), `{`+local+running+`,"description":"Updated description","readTimeoutSeconds":60}`)
	off := s.data("PUT", one+"/toggle?enabled=false", "")
	delete(off, "lastConnectedTime") // these are kept some time later
	delete(off, "toolCount")
	expectFields(t, "disable", off, `{`+local+`"enabled":false,"lastStatus":"disconnected","stage":"disabled","description":"Updated description","readTimeoutSeconds":60}`)
	expectFields(t, "enable", s.data("PUT", one+"/toggle?enabled=true", ""), `{`+local+running+`,"description":"Updated description","readTimeoutSeconds":60}`)

	test := s.data("POST", one+"/test", "")
	delete(test, "report")
	expectFields(t, "test", test, `{"success":true,"message":"Connected","toolCount":1,"latencyMs":`+number(test["latencyMs"])+`,"discoveredTools":["echo"],"timestamp":"*"}`)
	expectFields(t, "refresh", s.data("POST", servers+"/refresh", ""), `{"refreshed":2,"failed":{}}`)

	var list struct{ Data []map[string]any }
	assert.OK(t, json.Unmarshal([]byte(s.do("viewer", "GET", servers, "", nil).body), &list), "list")
	assert.Equal(t, len(list.Data), 2, "list")
	expectFields(t, "list", list.Data[0], `{`+local+running+`,"description":"Updated description","readTimeoutSeconds":60}`)
	list.Data = nil
	assert.OK(t, json.Unmarshal([]byte(s.do("viewer", "GET", one+"/tools", "", nil).body), &list), "tools")
	assert.Equal(t, len(list.Data), 1, "tools")
	expectFields(t, "tools", list.Data[0], `{"name":"echo","registeredName":"filesystem__echo","inputSchema":"*","state":"listed"}`)

	expectFields(t, "delete", s.data("DELETE", one, ""), `{"id":"*","restore":"*"}`)
	gone := s.do("owner", "GET", one, "", nil)
	assert.Equal(t, gone.status, http.StatusNotFound, "get what was removed")
	assert.Contains(t, gone.body, `"code":404`, "get what was removed")
	assert.Contains(t, gone.body, `"error":"err.mcp.not_found"`, "get what was removed")
}

func number(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// What is wrong with a record has a code that does not change.
func TestSeedErrors(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{}, &config.Server{Name: "own", URL: "https://own.example/mcp", Builtin: true})
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", servers, `{"transport":"stdio","command":"x"}`, 400, "name_required"},
		{"POST", servers, `{"name":"/","transport":"stdio","command":"x"}`, 400, "name_invalid"},
		{"POST", servers, `{"name":"own","url":"https://a.example"}`, 409, "name_taken"},
		{"POST", servers, `{"name":"a","transport":"pigeon"}`, 400, "transport_unsupported"},
		{"POST", servers, `{"name":"a","transport":"stdio"}`, 400, "stdio_command_required"},
		{"POST", servers, `{"name":"a","transport":"sse"}`, 400, "http_url_required"},
		{"POST", servers, `{"name":"a","command":"x","argsJson":"{}"}`, 400, "value_invalid"},
		{"POST", servers, `{"name":"a","url":"https://a.example","headersJson":"[1]"}`, 400, "value_invalid"},
		{"POST", servers, `{"name":"a","url":"https://a.example","headersJson":"{\"a\":[1]}"}`, 400, "value_invalid"},
		{"POST", servers, `{"name":"a","url":"https://a.example","headersJson":"{\"Authorization\":\"Bearer ab****cdef\"}"}`, 400, "mask_unmatched"},
		{"POST", servers, `{"name":"a","readTimeoutSeconds":-1,"url":"https://a.example"}`, 400, "value_invalid"},
		{"POST", servers, `{"name":"a","nonsense":1}`, 400, "value_invalid"},
		{"POST", servers, `[]`, 400, "value_invalid"},
		{"POST", servers, `{"name":"a"} {}`, 400, "value_invalid"},
		{"PUT", servers + "/none", `{}`, 404, "not_found"},
		{"PUT", servers + "/own", `{"revision":"0"}`, 409, "conflict"},
		{"PUT", servers + "/own/toggle", ``, 400, "value_invalid"},
		{"DELETE", servers + "/own", ``, 403, "builtin_readonly"},
		{"POST", servers + "/none/test", ``, 404, "not_found"},
		{"POST", servers + "/refresh", `{}`, 400, "body_unexpected"},
		{"POST", servers + "/own/test", `{"revision":"0"}`, 409, "conflict"},
		{"PATCH", servers + "/own", `{}`, 404, "no_route"},
	} {
		got := s.do("owner", c.method, c.path, c.body, nil)
		var e struct {
			Code       int
			Msg, Error string
		}
		assert.Equal(t, json.Unmarshal([]byte(got.body), &e), nil, "%s %s %s: %s", c.method, c.path, c.body, got.body)
		assert.Equal(t, got.status, c.status, "%s %s %s", c.method, c.path, c.body)
		assert.Equal(t, e.Code, c.status, "%s %s %s", c.method, c.path, c.body)
		assert.Equal(t, e.Error, "err.mcp."+c.code, "%s %s %s", c.method, c.path, c.body)
		assert.False(t, e.Msg == "", "%s %s %s: no msg", c.method, c.path, c.body)
	}
}

// Bodies of other clients are taken as far as they are clear, and what is wrong with one is named.
func TestBodiesOfClients(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{})
	untyped := func(r *http.Request) { r.Header.Del("Content-Type") }
	got := s.do("owner", "POST", servers, `{"name":"a","command":"x","envJson":"{\"PORT\":8080,\"ON\":true,\"T\":\"1\"}"}`, untyped)
	assert.Equal(t, got.status, http.StatusOK, "a body without a type")
	env := assert.Value(s.manager.Host().Inspect("a"))(t).Entry.Env
	assert.Equal(t, env["PORT"].Reveal()+env["ON"].Reveal()+env["T"].Reveal(), "8080true1", "numbers of a variable")
	for body, want := range map[string]string{
		`{"nam":"b"}`: `"nam\", which is unknown`, `{"said":{}}`: `"said\", which is unknown`, `{"readTimeoutSeconds":"15"}`: "readTimeoutSeconds of the body is not",
		`{"enabled":1}`: "enabled of the body is not", `{"name":"b","transport":"pigeon"}`: "streamable_http",
	} {
		got = s.do("owner", "POST", servers, body, nil)
		assert.Equal(t, got.status, http.StatusBadRequest, "%s", body)
		assert.Contains(t, got.body, want, "%s", body)
	}
	got = s.do("owner", "POST", servers, `{}`, func(r *http.Request) { untyped(r); r.Header.Set("Sec-Fetch-Site", "same-origin") })
	assert.Equal(t, got.status, http.StatusUnsupportedMediaType, "a body without a type of a browser")
}

// What GET shows can be put back: nothing is lost by it, and no secret is sent elsewhere.
func TestEchoKeepsSecrets(t *testing.T) {
	const secret, other = "sk-0123456789abcdef", "sk-fedcba9876543210"
	for _, r := range []*config.Server{
		{Name: "remote", URL: "https://a.example/mcp?key=" + secret, Lazy: true,
			Headers: map[string]config.Secret{"Authorization": "Bearer " + secret, "X-Team": "engineering", "X-Ref": "${env:TOKEN}"}, ReadTimeout: 1500e6,
			Extra: map[string]json.RawMessage{"": json.RawMessage(`"x"`), "*": json.RawMessage(`"y"`)}},
		{Name: "a local one", Command: "server", Args: []string{"--api-key", secret, "<&>"}, Env: map[string]config.Secret{"API_KEY": secret, "OTHER_TOKEN": other}, Cwd: "/"},
	} {
		store := record.NewMemoryStore(r)
		s := openStore(t, store, &host.Options{}, &admin.Options{})
		before := assert.Value(store.Records(t.Context()))(t)
		got := s.do("owner", "GET", servers+"/"+before[0].ID, "", nil)
		assert.Lacks(t, got.body, secret, "%s", r.Name)
		assert.Lacks(t, got.body, other, "%s", r.Name)
		var e struct{ Data json.RawMessage }
		assert.OK(t, json.Unmarshal([]byte(got.body), &e))
		s.data("PUT", servers+"/"+before[0].ID, string(e.Data))
		after := assert.Value(store.Records(t.Context()))(t)
		assert.Equal(t, after[0].Revision, before[0].Revision, "%s: the revision after an echo", r.Name)
		was, _ := record.Encode(before[0].Record)
		is, _ := record.Encode(after[0].Record)
		assert.Equal(t, string(was), string(is), "%s: after an echo", r.Name)
	}
	s := open(t, &host.Options{}, &admin.Options{}, &config.Server{Name: "a", URL: "https://a.example/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer " + secret}})
	body, _ := json.Marshal(map[string]any{"url": "https://evil.example/mcp", "headersJson": s.data("GET", servers+"/a", "")["headersJson"]})
	assert.Equal(t, s.do("owner", "PUT", servers+"/a", string(body), nil).status, http.StatusBadRequest, "a masked secret for another host")
}

// An entry of any program's file is read as it is when a file is read.
func TestEntryOfAnyProgram(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{})
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "x", "args": ["y"], "env": {"K": "secret-of-a"}}}}`:         `"name":"a","transport":"stdio","command":"x","argsJson":"[\"y\"]","envJson":"{\"K\":\"secret-of-a\"}"`,
		`{"servers": {"a": {"type": "http", "url": "https://a.example/mcp", "headers": {"H": "v"}}}}`: `"name":"a","transport":"streamable_http","url":"https://a.example/mcp","headersJson":"{\"H\":\"v\"}"`,
		`{"mcp": {"a": {"type": "local", "command": ["x", "y"], "environment": {"K": "v"}}}}`:         `"name":"a","transport":"stdio","command":"x","argsJson":"[\"y\"]","envJson":"{\"K\":\"v\"}"`,
		`{"context_servers": {"a": {"command": {"path": "x", "args": ["y"]}}}}`:                       `"name":"a","transport":"stdio","command":"x","argsJson":"[\"y\"]"`,
		`{"mcpServers": {"a": {"serverUrl": "https://a.example/mcp"}}}`:                               `"name":"a","transport":"auto","url":"https://a.example/mcp"`,
		`{"mcpServers": {"a": {"httpUrl": "https://a.example/mcp"}}}`:                                 `"name":"a","transport":"streamable_http","url":"https://a.example/mcp"`,
		`{"command": "x", // a comment
			"cwd": "/tmp",}`: `"name":"new","transport":"stdio","command":"x","cwd":"/tmp"`,
	} {
		got := s.do("owner", "POST", "/api/v1/entry", string(assert.Value(json.Marshal(map[string]string{"text": text, "name": "new"}))(t)), nil)
		assert.Equal(t, got.status, 200, "%s", text)
		for field := range strings.SplitSeq(want, `,"`) {
			assert.Contains(t, got.body, strings.TrimPrefix(field, `"`), "%s", text)
		}
	}
	for text, want := range map[string]string{
		`x`: "not a JSON object", `[]`: "must be an object", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`: "more than one server",
		`{"command": 7, "env": {"K": "secret-of-a"}}`: "command",
	} {
		got := s.do("owner", "POST", "/api/v1/entry", string(assert.Value(json.Marshal(map[string]string{"text": text}))(t)), nil)
		assert.Equal(t, got.status, 400, "%s", text)
		assert.Contains(t, got.body, want, "%s", text)
		assert.Lacks(t, got.body, "secret-of-a")
	}
}

// What would cure a server is what its failure says, and its tokens stay when it is connected again.
func TestBoardTellsCures(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Welcome")
	}))
	defer page.Close()
	well := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return hosttest.NewServer("well") }, nil))
	defer well.Close()
	m := assert.Value(manage.OpenStore(hosttest.Watchdog(t), record.NewMemoryStore(
		&config.Server{Name: "page", URL: page.URL}, &config.Server{Name: "closed", URL: deadport.URL(t)},
		&config.Server{Name: "typo", URL: "http://a.example/${NOT_SET}"}, &config.Server{Name: "well", URL: well.URL},
	), &manage.Options{Host: *hosttest.Patient(&host.Options{StateDir: host.NoState})}))(t)
	defer m.Close()
	s := (&site{t: t}).serve(m, &admin.Options{})
	cell := func(server, key string) string {
		for _, row := range s.get("viewer", "/api/v1/servers") {
			if row["name"] == server {
				return fmt.Sprint(row[key])
			}
		}
		return ""
	}
	for server, want := range map[string]string{"page": "A web page answers", "closed": "Nothing listens", "typo": "NOT_SET, which is not set"} {
		hosttest.Eventually(t, server+": "+want, func() bool { return strings.Contains(cell(server, "cure"), want) })
		assert.Lacks(t, cell(server, "error"), "is unavailable", "%s: the cause", server)
	}
	before := cell("well", "tokens")
	assert.Equal(t, s.do("owner", "POST", "/api/v1/servers/well/restart", "", nil).status, http.StatusOK, "restart")
	assert.Equal(t, cell("well", "tokens"), before, "tokens after a restart")
	assert.False(t, before == "0", "tokens of a server with a tool")
}
