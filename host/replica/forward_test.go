package replica_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/storage"
)

// join adds a member at a URL, which leaves at the end of the test.
func join(t *testing.T, store storage.Store, url string) *replica.Member {
	t.Helper()
	m := assert.Value(replica.Join(t.Context(), store, &replica.Options{URL: url}))(t)
	t.Cleanup(func() {
		assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil, "Close of the member")
		http.DefaultClient.CloseIdleConnections()
	})
	return m
}

// send sends a request with the fields of a header, and returns the body of the response.
func send(t *testing.T, method, url string, header http.Header, body io.Reader) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := assert.Value(http.NewRequestWithContext(ctx, method, url, body))(t)
	req.Host, req.Header = "belt.example", header
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	return string(assert.Value(io.ReadAll(res.Body))(t))
}

// Requests about another replica are passed on to it, whole, and others are not.
func TestHandler(t *testing.T) {
	store := storage.NewMemory()
	members := make([]*replica.Member, 2)
	servers := make([]*httptest.Server, 2)
	for i := range members {
		servers[i] = httptest.NewUnstartedServer(nil)
		members[i] = join(t, store, "http://"+servers[i].Listener.Addr().String())
		servers[i].Config.Handler = members[i].Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			assert.Equal(t, err, nil)
			fmt.Fprintf(w, "%d %s %s %s %s %d", i, r.Method, r.Host, r.URL.RequestURI(), r.Header.Get("Authorization"), n)
		}))
		servers[i].Start()
		defer servers[i].Close()
	}
	third := join(t, store, deadport.URL(t)).ID() // no connection to it was ever open
	assert.Equal(t, len(assert.Value(members[0].Approvals(t.Context()))(t)), 0, "calls, when it has looked for others")
	first, second := members[0].ID(), members[1].ID()
	large := strings.Repeat("x", 3<<20)
	for _, test := range []struct {
		name, method, path, session, cookie, body string
		want                                      string // who serves it, and how many bytes
	}{
		{"nothing", "GET", "/mcp", "", "", "", "0 0"},
		{"its own", "GET", "/approve/" + first + "-X", "", "", "", "0 0"},
		{"path", "GET", "/approve/" + second + "-X?a=b", "", "", "", "1 0"},
		{"query", "GET", "/cb?state=" + second + "-X", "", "", "", "1 0"},
		{"session", "DELETE", "/mcp", second + "-X", "", "", "1 0"},
		{"cookie", "GET", "/cb", "", "a=b; login-" + second + "-X=y", "", "1 0"},
		{"body", "POST", "/mcp", "", "", `{"id":"` + second + `-X"}`, "1 23"},
		{"other body", "POST", "/mcp", "", "", `{"id":"` + first + `-X"}`, "0 23"},
		{"no mark", "POST", "/mcp", "", "", second, "0 12"},
		{"late", "POST", "/mcp", "", "", large[:2<<20] + second + "-X", "0 2097166"},
		{"large", "POST", "/mcp", "", "", large, "0 3145728"},
	} {
		for _, body := range []io.Reader{strings.NewReader(test.body), io.MultiReader(strings.NewReader(test.body))} { // which is chunked
			header := http.Header{"Authorization": {"Bearer ada"}, "Mcp-Session-Id": {test.session}, "Cookie": {test.cookie}}
			by, size, _ := strings.Cut(test.want, " ")
			want := fmt.Sprintf("%s %s belt.example %s Bearer ada %s", by, test.method, test.path, size)
			assert.Equal(t, send(t, test.method, servers[0].URL+test.path, header, body), want, "%s", test.name)
		}
	}
	got := send(t, "POST", servers[0].URL+"/mcp", http.Header{}, strings.NewReader(third+"-X"))
	assert.Contains(t, got, "0 POST", "about one that cannot be reached")
}

// A request goes no further than to one other replica, whatever URLs they have.
func TestHandlerForwardsOnce(t *testing.T) {
	store := storage.NewMemory()
	server := httptest.NewUnstartedServer(nil)
	address := "http://" + server.Listener.Addr().String()
	other := join(t, store, address).ID()
	served := 0
	server.Config.Handler = join(t, store, address).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	server.Start()
	defer server.Close()
	send(t, "GET", server.URL+"/"+other+"-X", http.Header{}, nil)
	assert.Equal(t, served, 1, "requests served")
}

// What a replica sends piece by piece arrives so.
func TestHandlerStreams(t *testing.T) {
	store := storage.NewMemory()
	next := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			fmt.Fprintln(w, "data: x")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	}))
	defer other.Close()
	there := join(t, store, other.URL)
	server := httptest.NewServer(join(t, store, "").Handler(http.NotFoundHandler()))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := assert.Value(http.NewRequestWithContext(ctx, "GET", server.URL+"/events?of="+there.ID()+"-X", nil))(t)
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	line := make([]byte, len("data: x\n"))
	for range 3 {
		assert.Value(io.ReadFull(res.Body, line))(t)
		assert.Equal(t, string(line), "data: x\n")
		next <- struct{}{}
	}
	assert.Equal(t, len(assert.Value(io.ReadAll(res.Body))(t)), 0, "bytes after the end")
}

func TestJoinRefuses(t *testing.T) {
	for _, url := range []string{"10.0.0.7:8080", "ftp://a", "http://", "http://user@host", "::"} {
		assert.Fails(t, assert.Err(replica.Join(t.Context(), storage.NewMemory(), &replica.Options{URL: url})), "%s", url)
	}
	assert.Fails(t, assert.Err(replica.Join(t.Context(), nil, nil)), "without a store")
}

// A body is looked at up to a bound only, and comes whole where it is served, also if the other
// replica cannot be reached.
func TestHandlerBound(t *testing.T) {
	store := storage.NewMemory()
	gone := join(t, store, "http://127.0.0.1:1").ID() + "-X"
	server := httptest.NewServer(join(t, store, "").Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})))
	defer server.Close()
	filler := bytes.Repeat([]byte("x"), 3<<20)
	for _, body := range []string{gone, gone + string(filler), string(filler) + gone, ""} {
		assert.Equal(t, send(t, "POST", server.URL, http.Header{}, strings.NewReader(body)), fmt.Sprint(len(body), " <nil>"))
	}
}

// An admitting is a handler that knows the caller by the query, and serves until it is released.
type admitting struct{ served, release chan struct{} }

func (a admitting) Admits(r *http.Request) (string, bool) { return r.URL.RawQuery, true }

func (a admitting) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.served <- struct{}{}
	<-a.release
}

// One caller has a quarter of the room for bodies that are looked at.
func TestHandlerSharesRoom(t *testing.T) {
	a := admitting{make(chan struct{}), make(chan struct{})}
	h := join(t, storage.NewMemory(), "").Handler(a)
	serve := func(owner string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/?"+owner, io.MultiReader(strings.NewReader("of no known length"))))
		return w.Code
	}
	var all sync.WaitGroup
	for _, owner := range append(slices.Repeat([]string{"a"}, 16), "b") {
		all.Go(func() { assert.Equal(t, serve(owner), http.StatusOK, "%s", owner) })
		<-a.served
	}
	assert.Equal(t, serve("a"), http.StatusServiceUnavailable, "the 17th MiB")
	close(a.release)
	all.Wait()
	all.Go(func() { <-a.served })
	assert.Equal(t, serve("a"), http.StatusOK, "when there is room again")
	all.Wait()
}
