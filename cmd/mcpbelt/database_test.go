//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A served is a serve that runs, with its page.
type served struct {
	*running
	t        *testing.T
	URL, Key string
	Admin    string
	AdminKey string
	base     string
}

// serve starts serve with its page at a free port.
func serve(t *testing.T, w *world, args ...string) *served {
	t.Helper()
	s := &served{t: t, running: w.start(append([]string{"serve", "--listen", "127.0.0.1:0", "--json", "--admin=stdio:write", "--ask"}, args...)...)}
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), s))
	s.base = strings.TrimSuffix(s.URL, "/mcp")
	return s
}

// ask makes a request to the API of the page, which must have a status.
func (s *served) ask(status int, method, path, body string) string {
	s.t.Helper()
	got := ask(s.t, s.AdminKey, method, s.base+path, body)
	assert.Equal(s.t, got.status, status, "%s %s", method, path)
	return got.body
}

// awaitText asks until an answer has a text.
func (s *served) awaitText(path, text string) {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		if strings.Contains(s.ask(200, "GET", path, ""), text) {
			return
		}
	}
}

// client returns a client with a key.
func (s *served) client(key string) *mcp.Client {
	c := mcp.NewClient("belt", &transport.HTTP{URL: s.URL, Header: http.Header{"Authorization": {"Bearer " + key}}}, nil)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// post sends a message to a gateway.
func post(t *testing.T, url, key, session, body string) *http.Response {
	t.Helper()
	req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	req.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res := assert.Value(http.DefaultClient.Do(req))(t)
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res
}

// A door has a URL before what it leads to has one.
type door struct {
	*httptest.Server
	to atomic.Pointer[url.URL]
}

func newDoor(t *testing.T) *door {
	d := &door{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httputil.NewSingleHostReverseProxy(d.to.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *door) leadTo(t *testing.T, base string) {
	t.Helper()
	d.to.Store(assert.Value(url.Parse(base))(t))
}

const farServer = `{"name":"far","transport":"streamable_http","url":"https://far.invalid/mcp","enabled":false,"headersJson":"{\"X-Token\":\"canary-of-far\"}"}`

// checkShared tests that two serve on two machines share what a database keeps.
func checkShared(t *testing.T, database string) {
	one, two := newWorld(t, labServer), newWorld(t, `"left": {SERVER: {"FLAGS": "-features"}}`)
	key := filepath.Join(one.dir, "key")
	one.env = append(one.env, "MCPBELT_DATABASE="+database)
	aDoor, bDoor := newDoor(t), newDoor(t)
	a := serve(t, one, "--database-key-file", key, "--replica", aDoor.URL)
	b := serve(t, two, "--database="+database, "--database-key-file", key, "--replica", bDoor.URL)
	aDoor.leadTo(t, a.base)
	bDoor.leadTo(t, b.base)

	// The servers of the first config file are there, and those of the second are not.
	b.awaitText("/api/v1/servers", `"name":"lab"`)
	assert.Lacks(t, b.ask(200, "GET", "/api/v1/mcp/servers", ""), "left")
	a.ask(200, "POST", "/api/v1/mcp/servers", farServer)
	b.awaitText("/api/v1/servers", `"name":"far"`)

	// A key that is made anywhere is good everywhere.
	var made struct{ Secret string }
	assert.OK(t, json.Unmarshal([]byte(two.run("keys", "create", "laptop", "--json", "--database="+database)), &made))
	narrow := a.client(made.Secret)
	tools, err := narrow.Tools(t.Context())
	for err != nil && t.Context().Err() == nil { // serve looks for new keys every two seconds
		tools, err = narrow.Tools(t.Context())
	}
	assert.False(t, len(tools) == 0, "got no tools with a key of the database")

	// A session of one is served by the other, once that knows of it.
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	id := post(t, a.URL, made.Secret, "", begin).Header.Get("Mcp-Session-Id")
	assert.False(t, id == "", "got no session")
	for post(t, b.URL, made.Secret, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`).StatusCode != http.StatusOK && t.Context().Err() == nil {
		continue // replicas look for each other every five seconds
	}

	// A call that waits on one is approved on the other: by a command, and by its page.
	answers := make(chan string, 1)
	call := func(args string) {
		res, err := narrow.CallTool(t.Context(), "lab__arguments", json.RawMessage(args), nil)
		if err != nil {
			answers <- err.Error()
			return
		}
		answers <- res.Text()
	}
	for args, approve := range map[string]func(id string){
		`{"text":"by a command"}`: func(id string) { two.run("approve", id) },
		`{"text":"by its page"}`: func(id string) {
			b.awaitText("/api/v1/calls", id)
			b.ask(200, "POST", "/api/v1/calls/"+id+"/approve", "{}")
		},
	} {
		go call(args)
		got := <-answers
		for id = two.awaitCall(); !strings.Contains(got, id); id = two.awaitCall() {
			assert.OK(t, t.Context().Err(), "%q", got)
			// The call before is listed until its replica has told of its outcome.
		}
		approve(id)
		go call(args) // whose outcome is known
		got = <-answers
		assert.Equal(t, got, args)
	}
	b.awaitText("/api/v1/activity", "lab__arguments")

	// All of it is there in the next run, and nothing is imported again.
	a.ask(200, "DELETE", "/api/v1/mcp/servers/lab", "")
	for _, s := range []*served{a, b} {
		assert.Equal(t, s.end(syscall.SIGTERM), 0, "the exit")
	}
	c := serve(t, one, "--database-key-file", key)
	list := c.ask(200, "GET", "/api/v1/mcp/servers", "")
	assert.Contains(t, list, `"far"`)
	assert.Lacks(t, list, `"lab"`)
	if got := ask(t, made.Secret, "POST", c.URL, "{}"); got.status == http.StatusUnauthorized {
		t.Errorf("got %d %s, want that the key is good", got.status, got.body)
	}
	c.end(syscall.SIGTERM)
}

func TestServeShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a? b.db")
	checkShared(t, "sqlite:"+path)
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it is gone when all have ended
		}
		assert.Lacks(t, string(data), "canary-of-far", "%s", name)
		info, err := os.Stat(name)
		assert.OK(t, err, "%s", name)
		assert.Equal(t, info.Mode().Perm(), 0o600, "%s", name)
	}
}

// Without a name the database is in the state folder, and its key is that of the logins there.
func TestServeDatabase(t *testing.T) {
	w := newWorld(t, labServer)
	s := serve(t, w, "--database")
	s.ask(200, "POST", "/api/v1/mcp/servers", farServer)
	s.end(syscall.SIGTERM)
	s = serve(t, w, "--database")
	list := s.ask(200, "GET", "/api/v1/mcp/servers", "")
	assert.Contains(t, list, `"far"`)
	assert.Contains(t, list, `"lab"`)
	s.end(syscall.SIGTERM)
	for _, name := range []string{"serve.db", "sessions/key"} {
		info, err := os.Stat(filepath.Join(w.dir, "s", "mcpbelt", name))
		assert.OK(t, err, "%s", name)
		assert.Equal(t, info.Mode().Perm(), 0o600, "%s", name)
	}
	assert.Lacks(t, string(assert.Value(os.ReadFile(filepath.Join(w.dir, "home", ".config", "mcpbelt", "mcp.json")))(t)), "far")
}
