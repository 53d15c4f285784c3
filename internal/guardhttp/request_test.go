package guardhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestDoSendsWhatItIsGiven(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/weird")
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s %s %s|%s|%s|%s|%d", r.Method, r.RequestURI, body, r.Header["X-A"], r.Host, r.Header.Get("Accept-Encoding"), r.ContentLength)
	})
	c := local(t, Options{})
	for _, test := range []struct{ method, body string }{{"GET", ""}, {"POST", `{"a":1}`}, {"PUT", "x"}, {"PATCH", ""}, {"DELETE", ""}, {"OPTIONS", ""}, {"PROPFIND", "<a/>"}, {"GET", "odd"}} {
		a, err := c.Do(t.Context(), &Request{Method: test.method, URL: at + "/p%2Fq?r=%26", Body: test.body, Header: http.Header{
			"x-a": {"1", "2"}, "Host": {"evil.example"}, "Content-Length": {"99"}, "Accept-Encoding": {"br"}, "Transfer-Encoding": {"chunked"}, "Connection": {"X-A"},
		}})
		assert.OK(t, err, "%s", test.method)
		want := fmt.Sprintf("%s /p%%2Fq?r=%%26 %s|[1 2]|%s|gzip|%d", test.method, test.body, strings.TrimPrefix(at, "http://"), len(test.body))
		assert.Equal(t, string(a.Body), want, "%s", test.method)
		assert.Equal(t, a.Header.Get("Content-Type"), "text/weird", "%s", test.method)
		assert.False(t, a.Truncated, "%s", test.method)
	}
	assert.Equal(t, assert.Value(c.Do(t.Context(), &Request{Method: "HEAD", URL: at}))(t).Status, http.StatusTeapot, "HEAD")
}

func TestDoRefusesWhatCannotBeSent(t *testing.T) {
	canary := newCanary(t)
	c := local(t, Options{})
	for _, r := range []*Request{
		{Method: "GE T", URL: canary.url},
		{Method: "", URL: canary.url},
		{Method: "CONNECT", URL: canary.url},
		{Method: "GET", URL: canary.url, Header: http.Header{"X Y": {"secret"}}},
		{Method: "GET", URL: canary.url, Header: http.Header{"X": {"secret\r\nY: z"}}},
		{Method: "GET", URL: canary.url, Header: http.Header{"X": {"secret\x00"}}},
		{Method: "GET", URL: "ftp://127.0.0.1/secret"},
		{Method: "GET", URL: canary.url + "/\\secret"},
		{Method: "GET", URL: "https://10.0.0.1/secret"},
	} {
		_, err := c.Do(t.Context(), r)
		if !errors.As(err, new(*Refusal)) {
			assert.True(t, assert.As[*Failure](t, err, "%s %q", r.Method, r.URL).NotSent, "%s %q", r.Method, r.URL)
		}
		assert.Lacks(t, err.Error(), "secret")
	}
	canary.wantUntouched(t)
}

func TestDoBoundsAnswers(t *testing.T) {
	bomb := packed(strings.Repeat(" ", 4<<20))
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		case "/exact":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
		case "/odd":
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "secret")
		case "/endless":
			sendEndlessly(w)
		case "/headers":
			for i := range 64 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("secret", 1<<10))
			}
		case "/broken":
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "secret")
		}
	})
	c := local(t, Options{})
	for _, test := range []struct {
		path      string
		max, want int
		truncated bool
		err       string
	}{
		{"/bomb", 0, 1 << 20, true, ""},
		{"/bomb", 10, 10, true, ""},
		{"/exact", 1000, 1000, false, ""},
		{"/exact", 999, 999, true, ""},
		{"/endless", 2 << 20, 2 << 20, true, ""},
		{"/odd", 0, 0, false, "compressed"},
		{"/headers", 0, 0, false, "not HTTP"},
		{"/broken", 0, 0, false, "hung up"},
	} {
		a, err := c.Do(t.Context(), &Request{Method: "GET", URL: at + test.path, MaxBytes: test.max})
		if test.err != "" {
			assert.False(t, wantFailure(t, err, test.err).NotSent, "%s", test.path)
			assert.Lacks(t, err.Error(), "secret", "%s", test.path)
			continue
		}
		assert.OK(t, err, "%s", test.path)
		assert.Equal(t, len(a.Body), test.want, "%s", test.path)
		assert.Equal(t, a.Truncated, test.truncated, "%s", test.path)
		assert.True(t, cap(a.Body) <= 2*test.want+1024, "%s: %d bytes of memory are few", test.path, cap(a.Body))
	}
}

func TestDoFollows(t *testing.T) {
	canary := newCanary(t)
	for _, status := range statuses {
		var got []string
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Method+" "+r.URL.Path+r.Header.Get("Authorization"))
			to, ok := map[string]string{
				"/here": "/there", "/away": canary.url + "/secret", "/metadata": "http://169.254.169.254/latest", "/loop": "/loop", "/nowhere": "",
			}[r.URL.Path]
			if !ok {
				return // arrived
			}
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		})
		c := local(t, Options{})
		for _, test := range []struct {
			method, path string
			follow       bool
			want         int
			requests     string
		}{
			{"GET", "/here", true, 200, "GET /hereA,GET /thereA"},
			{"HEAD", "/here", true, 200, "HEAD /hereA,HEAD /thereA"},
			{"OPTIONS", "/here", true, 200, "OPTIONS /hereA,OPTIONS /thereA"},
			{"GET", "/here", false, status, "GET /hereA"},
			{"POST", "/here", true, status, "POST /hereA"},
			{"DELETE", "/here", true, status, "DELETE /hereA"},
			{"GET", "/away", true, status, "GET /awayA"},
			{"GET", "/metadata", true, status, "GET /metadataA"},
			{"GET", "/nowhere", true, status, "GET /nowhereA"},
			{"GET", "/loop", true, status, "GET /loopA,GET /loopA,GET /loopA,GET /loopA"},
		} {
			got = nil
			a, err := c.Do(t.Context(), &Request{Method: test.method, URL: at + test.path, Follow: test.follow, Header: http.Header{"authorization": {"A"}}})
			assert.OK(t, err, "%d %s %s", status, test.method, test.path)
			assert.Equal(t, a.Status, test.want, "%d %s %s", status, test.method, test.path)
			assert.Equal(t, strings.Join(got, ","), test.requests, "%d", status)
		}
	}
	canary.wantUntouched(t)
}

func TestDoChecksEachAddress(t *testing.T) {
	canary := newCanary(t)
	z := &zone{names: map[string][]string{"api.example": {"127.0.0.2", "169.254.169.254", "127.0.0.1"}}}
	c := New(Options{AllowHTTP: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolver: z.resolver(t)})
	t.Cleanup(c.Close)
	for i := range 3 {
		_, err := c.Do(t.Context(), &Request{Method: "DELETE", URL: "http://api.example:" + canary.port + "/secret"})
		if i == 0 {
			assert.True(t, assert.As[*Failure](t, err).NotSent, "nothing listens there")
		} else {
			assert.As[*Refusal](t, err, "address %d", i)
		}
	}
	canary.wantUntouched(t)
}

func TestDoTimeout(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "{")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	for _, path := range []string{"/header", "/body"} {
		_, err := local(t, Options{}).Do(t.Context(), &Request{Method: "GET", URL: at + path, Timeout: 50 * time.Millisecond})
		wantFailure(t, err, "within 50ms")
	}
}

func TestSpecial(t *testing.T) {
	for host, want := range map[string]bool{
		"169.254.169.254": true, "[fd00:ec2::254]": true, "fe80::1": true, "fe80::1%eth0": true, "0.0.0.0": true, "::ffff:169.254.169.254": true,
		"64:ff9b::a9fe:a9fe": true, "100.100.100.200": true, "10.0.0.1": false, "127.0.0.1": false, "8.8.8.8": false, "metadata.example": false,
	} {
		assert.Equal(t, Special(host), want, "%s", host)
	}
}

// A server that changes the protocol gets the connection for itself, and no context
// ends what is read from it.
func TestSwitchedProtocols(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Type: application/json\r\n\r\n{")
		_, _ = io.Copy(io.Discard, conn) // until the client hangs up
	})
	c := local(t, Options{})
	_, err := c.Do(t.Context(), &Request{Method: "GET", URL: at})
	f := wantFailure(t, err, "another protocol")
	assert.Equal(t, f.Status, http.StatusSwitchingProtocols, "status")
	assert.False(t, f.NotSent, "it was sent")
	for _, err := range everything(t, c, at) {
		wantFailure(t, err, "another protocol")
	}
}
