package replica_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Requests about another replica are passed on to it, whole, and others are not.
func TestHandler(t *testing.T) {
	store := storage.NewMemory()
	members := make([]*replica.Member, 2)
	servers := make([]*httptest.Server, 2)
	for i := range members {
		servers[i] = httptest.NewUnstartedServer(nil)
		m := assert.Value(replica.Join(t.Context(), store, &replica.Options{URL: "http://" + servers[i].Listener.Addr().String()}))(t)
		members[i] = m
		servers[i].Config.Handler = m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			assert.Equal(t, err, nil)
			fmt.Fprintf(w, "%d %s %s %s %s %d", i, r.Method, r.Host, r.URL.RequestURI(), r.Header.Get("Authorization"), len(body))
		}))
		servers[i].Start()
		t.Cleanup(func() {
			servers[i].Close()
			assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil)
		})
	}
	if list, err := members[0].Approvals(t.Context()); err != nil || len(list) > 0 { // it looks for others
		t.Fatal(list, err)
	}
	first, second := members[0].ID(), members[1].ID()
	large := strings.Repeat("x", 20<<20)
	for _, test := range []struct {
		name, method, path, session, cookie, body string
		want                                      string
	}{
		{"nothing", "GET", "/mcp", "", "", "", "0 GET belt.example /mcp Bearer ada 0"},
		{"its own", "GET", "/approve/" + first + "-X", "", "", "", "0 GET belt.example /approve/" + first + "-X Bearer ada 0"},
		{"path", "GET", "/approve/" + second + "-X?a=b", "", "", "", "1 GET belt.example /approve/" + second + "-X?a=b Bearer ada 0"},
		{"query", "GET", "/cb?state=" + second + "-X", "", "", "", "1 GET belt.example /cb?state=" + second + "-X Bearer ada 0"},
		{"session", "DELETE", "/mcp", second + "-X", "", "", "1 DELETE belt.example /mcp Bearer ada 0"},
		{"cookie", "GET", "/cb", "", "a=b; login-" + second + "-X=y", "", "1 GET belt.example /cb Bearer ada 0"},
		{"body", "POST", "/mcp", "", "", `{"id":"` + second + `-X"}`, "1 POST belt.example /mcp Bearer ada 23"},
		{"other body", "POST", "/mcp", "", "", `{"id":"` + first + `-X"}`, "0 POST belt.example /mcp Bearer ada 23"},
		{"no mark", "POST", "/mcp", "", "", second, "0 POST belt.example /mcp Bearer ada 12"},
		{"late", "POST", "/mcp", "", "", large[:2<<20] + second + "-X", "0 POST belt.example /mcp Bearer ada 2097166"},
		{"large", "POST", "/mcp", "", "", large, "0 POST belt.example /mcp Bearer ada 20971520"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, chunked := range []bool{false, true} {
				var body io.Reader = strings.NewReader(test.body)
				if chunked {
					body = io.MultiReader(body)
				}
				req := assert.Value(http.NewRequestWithContext(t.Context(), test.method, servers[0].URL+test.path, body))(t)
				req.Host = "belt.example"
				req.Header.Set("Authorization", "Bearer ada")
				if test.session != "" {
					req.Header.Set("Mcp-Session-Id", test.session)
				}
				if test.cookie != "" {
					req.Header.Set("Cookie", test.cookie)
				}
				res := assert.Value(http.DefaultClient.Do(req))(t)
				got, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				assert.OK(t, err)
				assert.Equal(t, string(got), test.want)
			}
		})
	}
	servers[1].Close()
	res := assert.Value(http.Post(servers[0].URL+"/mcp", "text/plain", strings.NewReader(second+"-X")))(t)
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if want := "0 POST"; err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("got %s, %v of one that cannot be reached, want %s", got, err, want)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A request goes no further than to one other replica, whatever URLs they have.
func TestHandlerForwardsOnce(t *testing.T) {
	store := storage.NewMemory()
	server := httptest.NewUnstartedServer(nil)
	address := "http://" + server.Listener.Addr().String()
	join := func() *replica.Member {
		m := assert.Value(replica.Join(t.Context(), store, &replica.Options{URL: address}))(t)
		t.Cleanup(func() {
			assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil)
		})
		return m
	}
	other := join().ID()
	served := 0
	server.Config.Handler = join().Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	server.Start()
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req := assert.Value(http.NewRequestWithContext(ctx, "GET", server.URL+"/"+other+"-X", nil))(t)
	res := assert.Value(http.DefaultClient.Do(req))(t)
	_ = res.Body.Close()
	assert.Equal(t, served, 1, "it served times")
	http.DefaultClient.CloseIdleConnections()
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
	join := func(url string) *replica.Member {
		m := assert.Value(replica.Join(t.Context(), store, &replica.Options{URL: url}))(t)
		t.Cleanup(func() {
			assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil)
		})
		return m
	}
	there := join(other.URL)
	server := httptest.NewServer(join("").Handler(http.NotFoundHandler()))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := assert.Value(http.NewRequestWithContext(ctx, "GET", server.URL+"/events?of="+there.ID()+"-X", nil))(t)
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	line := make([]byte, len("data: x\n"))
	for range 3 {
		if _, err := io.ReadFull(res.Body, line); err != nil || string(line) != "data: x\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v after the end", rest, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestJoinRefuses(t *testing.T) {
	for _, url := range []string{"10.0.0.7:8080", "ftp://a", "http://", "http://user@host", "::"} {
		if m, err := replica.Join(t.Context(), storage.NewMemory(), &replica.Options{URL: url}); err == nil {
			t.Errorf("%s: got no error, want one", url)
			_ = m.Close(t.Context())
		}
	}
	_, err := replica.Join(t.Context(), nil, nil)
	assert.Fails(t, err, "without a store")
}

// A body is looked at up to a bound only, and comes whole where it is served, also if the other
// replica cannot be reached.
func TestHandlerBound(t *testing.T) {
	store := storage.NewMemory()
	join := func(url string) *replica.Member {
		m := assert.Value(replica.Join(t.Context(), store, &replica.Options{URL: url}))(t)
		t.Cleanup(func() {
			assert.Equal(t, m.Close(context.WithoutCancel(t.Context())), nil)
		})
		return m
	}
	gone := join("http://127.0.0.1:1").ID() + "-X"
	server := httptest.NewServer(join("").Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})))
	defer server.Close()
	filler := strings.Repeat("x", 3<<20)
	for _, body := range []string{gone, gone + filler, filler + gone, ""} {
		res := assert.Value(http.Post(server.URL, "text/plain", strings.NewReader(body)))(t)
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		assert.OK(t, err)
		assert.Equal(t, string(got), fmt.Sprint(len(body), " <nil>"))
	}
	http.DefaultClient.CloseIdleConnections()
}
