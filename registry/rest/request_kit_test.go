package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// An arrival is a request as a real server got it.
type arrival struct {
	method  string
	uri     string // as it was sent
	url     *url.URL
	header  http.Header
	cookies []*http.Cookie
	body    string
}

// A recorder is a server on this machine that keeps the last request.
type recorder struct {
	url    string
	answer http.HandlerFunc // nil: {} as JSON
	mu     sync.Mutex
	last   *arrival
	count  int
}

func newRecorder(t testing.TB) *recorder {
	rec := &recorder{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rec.mu.Lock()
		rec.last = &arrival{r.Method, r.RequestURI, r.URL, r.Header.Clone(), r.Cookies(), string(body)}
		rec.count++
		rec.mu.Unlock()
		if rec.answer != nil {
			rec.answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	rec.url = s.URL
	return rec
}

// take returns the request that came since the last take; nil if none did.
func (rec *recorder) take() *arrival {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	last := rec.last
	rec.last = nil
	return last
}

// serve makes a Service of one endpoint at the recorder.
func (rec *recorder) serve(t testing.TB, ep Endpoint) *Service {
	t.Helper()
	if ep.Name == "" {
		ep.Name = "op"
	}
	return serveAPI(t, &API{Name: "shop", BaseURL: rec.url, Endpoints: []Endpoint{ep}})
}

func serveAPI(t testing.TB, api *API) *Service {
	t.Helper()
	s := assert.Value(New(api, nil))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// callOnly calls the only tool of a service.
func callOnly(t testing.TB, s *Service, args string) (*mcp.CallToolResult, error) {
	t.Helper()
	return s.Tools()[0].Call(t.Context(), json.RawMessage(args))
}

// arrive calls the only tool and returns the request that arrived.
func (rec *recorder) arrive(t testing.TB, s *Service, args string) *arrival {
	t.Helper()
	rec.take()
	res, err := callOnly(t, s, args)
	assert.OK(t, err, "%s", args)
	assert.Equal(t, res.IsError, false, "%s: res.IsError", args)
	got := rec.take()
	if got == nil {
		t.Fatalf("%s: nothing arrived", args)
	}
	return got
}

// refuse calls the only tool with what cannot be sent, and returns the error.
func (rec *recorder) refuse(t testing.TB, s *Service, args string) *registry.ArgumentsError {
	t.Helper()
	rec.take()
	_, err := callOnly(t, s, args)
	var refused *registry.ArgumentsError
	if !errors.As(err, &refused) {
		t.Errorf("%s: %v, want an *ArgumentsError", args, err)
		return &registry.ArgumentsError{Err: errors.New("none")}
	}
	if mcp.OutcomeOf(err) != mcp.NotSent || len(refused.Problems) == 0 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: %v with %d problems", args, err, len(refused.Problems))
	}
	if got := rec.take(); got != nil {
		t.Errorf("%s: %s %s arrived", args, got.method, got.uri)
	}
	return refused
}

func textIn(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if res == nil || len(res.Content) != 1 {
		t.Fatalf("result %+v", res)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %T", res.Content[0])
	}
	return text.Text
}

// jsonOf writes a value as JSON.
func jsonOf(t testing.TB, v any) string {
	t.Helper()
	data := assert.Value(json.Marshal(v))(t)
	return string(data)
}

func inPlace(in Place, name, schema, style string, explode ...bool) Param {
	p := Param{Name: name, In: in, Style: style}
	if schema != "" {
		p.Schema = json.RawMessage(schema)
	}
	if len(explode) > 0 {
		p.Explode = &explode[0]
	}
	return p
}
