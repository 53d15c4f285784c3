package rest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func TestMain(m *testing.M) {
	const patient = 10 * time.Minute // what a busy machine does not reach
	callTimeout, fetchTimeout, failureTTL = patient, patient, patient
	goleak.VerifyTestMain(m)
}

// testSecret is the secret of all tests, which no error and no answer may show.
const testSecret = "s3cr3t/v=lue+x"

// showsSecret reports whether a text has the secret in any form, or its end.
func showsSecret(text string) bool {
	for _, form := range []string{testSecret, escape(testSecret), "v=lue", "czNjcjN0L3Y9bHVlK3"} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// noSecretIn fails the test if an error, or what it wraps, shows the secret.
func noSecretIn(t testing.TB, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		assert.False(t, showsSecret(e.Error()), "the error %q shows the secret", e)
	}
}

// An arrival is a request as a server got it.
type arrival struct {
	method, uri string // as they were sent
	header      http.Header
	body        string
}

// shows reports whether a request has all that is wanted: its method and address, a header,
// the body behind "body: ".
func (a *arrival) shows(want []string) bool {
	lines := []string{a.method + " " + a.uri, "body: " + a.body}
	for name, values := range a.header {
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	return !slices.ContainsFunc(want, func(line string) bool { return !slices.Contains(lines, line) })
}

// A testServer keeps the requests that it gets.
type testServer struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request, body string) // nil: {} as JSON
	mu     sync.Mutex
	seen   []arrival
}

// newTestServer starts a server on this machine.
func newTestServer(t testing.TB, answer func(http.ResponseWriter, *http.Request, string)) *testServer {
	s := &testServer{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, arrival{r.Method, r.RequestURI, r.Header.Clone(), string(body)})
		s.mu.Unlock()
		if s.answer != nil {
			s.answer(w, r, string(body))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns the requests that came since the last take.
func (s *testServer) requests() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]arrival(nil), s.seen...)
}

// take returns the last request that came since the last take; nil if none did.
func (s *testServer) take() *arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	if s.seen = nil; len(seen) == 0 {
		return nil
	}
	return &seen[len(seen)-1]
}

// serve makes a Service of one endpoint at the server.
func (s *testServer) serve(t testing.TB, ep Endpoint) *Service {
	t.Helper()
	if ep.Name == "" {
		ep.Name = "op"
	}
	return newTestService(t, &API{BaseURL: s.URL, Endpoints: []Endpoint{ep}})
}

// newTestService makes a Service with the secrets of all tests.
func newTestService(t testing.TB, api *API) *Service {
	t.Helper()
	if api.Name == "" {
		api.Name = "shop"
	}
	if api.Endpoints == nil {
		api.Endpoints = []Endpoint{{Name: "put", Method: "POST", Path: "/x"}}
	}
	s := assert.Value(New(api, &Options{Secrets: testSecrets}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// callOnly calls the only tool of a service.
func callOnly(t testing.TB, s *Service, args string) (*mcp.CallToolResult, error) {
	return s.Tools()[0].Call(t.Context(), json.RawMessage(args))
}

// arrive calls the only tool and returns the request that arrived.
func (s *testServer) arrive(t testing.TB, service *Service, args string) *arrival {
	t.Helper()
	s.take()
	res, err := callOnly(t, service, args)
	assert.OK(t, err, "%s", args)
	assert.False(t, res.IsError, "%s is an error: %s", args, result.Text(res))
	got := s.take()
	if got == nil {
		t.Fatalf("%s: got no request, want one", args)
	}
	return got
}

// refuse calls the only tool with what cannot be sent, and returns the error.
func (s *testServer) refuse(t testing.TB, service *Service, args string) *registry.ArgumentsError {
	t.Helper()
	s.take()
	_, err := callOnly(t, service, args)
	refused := assert.As[*registry.ArgumentsError](t, err, "%s", args)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s: the outcome", args)
	assert.True(t, len(refused.Problems) > 0, "%s: there are problems", args)
	assert.Lacks(t, err.Error(), "\n", "%s", args)
	assert.Equal(t, len(s.requests()), 0, "%s: requests", args)
	return refused
}

// jsonOf writes a value as JSON.
func jsonOf(t testing.TB, v any) string {
	t.Helper()
	return string(assert.Value(json.Marshal(v))(t))
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

// testSecrets gives testSecret for KEY and its like, and nothing else but a few.
func testSecrets(_ context.Context, name string) (string, error) {
	switch name {
	case "KEY", "TOKEN", "PASSWORD", "SECRET":
		return testSecret, nil
	case "USER":
		return "alice12", nil
	case "TENANT":
		return "acme & co", nil
	case "EMPTY":
		return "", nil
	case "BROKEN":
		return "", errors.New("the vault is sealed")
	case "LINES":
		return testSecret + "\n", nil
	case "DOTS":
		return "..", nil
	}
	return "", ErrNotSet
}

// get is a request that asks for /x.
func get() *request { return &request{endpoint: "get", method: "GET", path: "/x", safe: true} }

// trySend sends a request and looks for the secret in what comes of it.
func trySend(t testing.TB, s *Service, r *request) (*guardhttp.Answer, error) {
	t.Helper()
	a, err := s.send(t.Context(), r)
	noSecretIn(t, err)
	if a != nil {
		assert.False(t, showsSecret(string(a.Body)), "the answer %q shows the secret", a.Body)
		for name, values := range a.Header {
			assert.False(t, showsSecret(strings.Join(values, " ")), "the header %s shows the secret", name)
		}
	}
	return a, err
}

// mustSend is trySend of what has to be answered with 200.
func mustSend(t testing.TB, s *Service, r *request) *guardhttp.Answer {
	t.Helper()
	a := assert.Value(trySend(t, s, r))(t)
	assert.Equal(t, a.Status, http.StatusOK, "%s", a.Body)
	return a
}

// namesOf returns a resolver by which each name has one address of version 4: the
// next one at each question, and the last one from then on.
func namesOf(t testing.TB, addrs ...string) *net.Resolver {
	pc := assert.Value(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	var served sync.WaitGroup
	served.Go(func() {
		query := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(query)
			if err != nil {
				return
			}
			end := 12 // RFC 1035, section 4.1
			for query[end] != 0 {
				end += 1 + int(query[end])
			}
			end += 5
			reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:min(end, n)]...)
			if binary.BigEndian.Uint16(query[end-4:]) == 1 {
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				reply = append(reply, netip.MustParseAddr(addrs[0]).AsSlice()...)
				addrs = addrs[min(1, len(addrs)-1):]
			}
			_, _ = pc.WriteTo(reply, from)
		}
	})
	t.Cleanup(func() { _ = pc.Close(); served.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}
