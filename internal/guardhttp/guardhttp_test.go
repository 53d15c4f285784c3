package guardhttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
)

func TestGet(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, r.Method+" "+r.Header.Get("Accept")+" "+r.Header.Get("MCP-Protocol-Version"), "GET application/json x", "received")
		w.Header().Set("DPoP-Nonce", "n")
		answerJSON(w, 200, `{"a":1}`)
	})
	a := assert.Value(local(t, Options{}).Get(t.Context(), at+"/x?y=z", http.Header{"mcp-protocol-version": {"x"}}))(t)
	assert.Equal(t, [...]any{a.Status, string(a.Body), a.Header.Get("DPoP-Nonce")}, [...]any{200, `{"a":1}`, "n"}, "answer")
}

func TestPost(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answerJSON(w, 400, fmt.Sprintf(`{"method":%q,"type":%q,"body":%q,"close":%v}`, r.Method, r.Header.Get("Content-Type"), body, r.Close))
	})
	c := local(t, Options{})
	header := http.Header{"Dpop": {"proof"}}
	form := assert.Value(c.PostForm(t.Context(), at, header, url.Values{"a": {"b c"}}))(t)
	assert.Equal(t, string(form.Body), `{"method":"POST","type":"application/x-www-form-urlencoded","body":"a=b+c","close":true}`, "the server saw")
	plain := assert.Value(c.PostJSON(t.Context(), at, nil, []byte(`[1]`)))(t)
	assert.Equal(t, string(plain.Body), `{"method":"POST","type":"application/json","body":"[1]","close":true}`, "the server saw")
	assert.Equal(t, len(header), 1, "the caller's header was changed")
}

func TestAnswers(t *testing.T) {
	big := []byte(`"` + strings.Repeat("x", maxBody) + `"`)
	for _, test := range []struct {
		name     string
		status   int
		kind     string
		encoding string
		body     []byte
		want     string // the body
		err      string
	}{
		{name: "json", status: 200, kind: "application/json; charset=utf-8", body: []byte(`{}`), want: `{}`},
		{name: "suffix", status: 201, kind: "application/oauth+json", body: []byte(`{}`), want: `{}`},
		{name: "gzip", status: 200, kind: "application/json", encoding: "gzip", body: packed(`{"b":2}`), want: `{"b":2}`},
		{name: "refusal", status: 401, kind: "application/json", body: []byte(`{"error":"x"}`), want: `{"error":"x"}`},
		{name: "refusal in HTML", status: 403, kind: "text/html", body: []byte(`<secret>`)},
		{name: "nothing", status: 200},
		{name: "HTML", status: 200, kind: "text/html", body: []byte(`<secret>`), err: `"text/html"`},
		{name: "no type", status: 200, kind: " ", body: []byte(`{"a":1}`), want: `{"a":1}`},
		{name: "no type, no object", status: 200, kind: " ", body: []byte(`["secret"]`), err: "no content type"},
		{name: "static file", status: 200, kind: "binary/octet-stream", body: []byte("\r\n\t {}"), want: "\r\n\t {}"},
		{name: "text", status: 200, kind: "text/plain; charset=utf-8", body: []byte(`{}`), want: `{}`},
		{name: "refusal in text", status: 400, kind: "text/plain", body: []byte(`{"error":"invalid_grant"}`), want: `{"error":"invalid_grant"}`},
		{name: "refusal in words", status: 400, kind: "text/plain", body: []byte(`secret`)},
		{name: "words", status: 200, kind: "text/plain", body: []byte(`secret`), err: `"text/plain"`},
		{name: "odd type", status: 200, kind: "application/" + strings.Repeat("secret", 20), body: []byte(`{}`), err: "not JSON"},
		{name: "suffix of text", status: 200, kind: "text/x+json", body: []byte(`{}`), err: "content type"},
		{name: "encoding", status: 200, kind: "application/json", encoding: "br", body: []byte(`secret`), err: "compressed"},
		{name: "large", status: 200, kind: "application/json", body: big, err: "1 MiB"},
		{name: "large refusal", status: 400, kind: "application/json", body: big, err: "1 MiB"},
		{name: "bomb", status: 200, kind: "application/json", encoding: "gzip", body: packed(strings.Repeat(" ", 4*maxBody)), err: "1 MiB"},
		{name: "broken gzip", status: 200, kind: "application/json", encoding: "gzip", body: []byte(`secret`), err: "hung up"},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if test.kind != "" {
					w.Header().Set("Content-Type", test.kind)
				}
				w.Header().Set("Content-Encoding", test.encoding)
				w.WriteHeader(test.status)
				_, _ = w.Write(test.body)
			})
			a, err := local(t, Options{}).PostForm(t.Context(), at+"/p?q=secret", nil, nil)
			if test.err != "" {
				f := wantFailure(t, err, test.err)
				assert.Equal(t, f.Status, test.status, "status")
				assert.False(t, f.NotSent, "it was sent")
				assert.Lacks(t, err.Error(), "secret")
				return
			}
			assert.OK(t, err)
			assert.Equal(t, fmt.Sprintf("%d %s", a.Status, a.Body), fmt.Sprint(test.status, " ", test.want), "answer")
		})
	}
}

// Of an answer that does not end no more is read than may be.
func TestEndlessAnswer(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		sendEndlessly(w)
	})
	for _, err := range everything(t, local(t, Options{}), at) {
		wantFailure(t, err, "1 MiB")
	}
}

// What is of no use by its header is not waited for.
func TestUselessBodies(t *testing.T) {
	for kind, status := range map[string]int{"text/event-stream": 200, "text/html": 404} {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		a, err := local(t, Options{}).Get(t.Context(), at, nil)
		if status == 200 {
			wantFailure(t, err, "text/event-stream")
		} else {
			assert.OK(t, err)
			assert.Equal(t, a.Status, status, "%s", kind)
		}
	}
}

// A server that is not one, with a secret in what it sends.
func TestBrokenAnswersAreNotShown(t *testing.T) {
	for _, raw := range []string{
		"secret\r\n\r\n",
		"HTTP/1.1 secret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nsecret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\nsecret",
		"",
	} {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, raw)
			_ = conn.Close()
		})
		_, err := local(t, Options{}).PostForm(t.Context(), at, nil, nil)
		assert.False(t, wantFailure(t, err, "").NotSent, "%q: not sent, but it was", raw)
		for e := err; e != nil; e = errors.Unwrap(e) {
			assert.Lacks(t, e.Error(), "secret", "%q", raw)
		}
	}
}

func TestNotSent(t *testing.T) {
	closed := deadport.URL(t)
	c := local(t, Options{})
	assert.True(t, wantFailure(t, errOf(c.PostForm(t.Context(), closed, nil, nil)), "refused").NotSent, "not sent")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.PostForm(ctx, closed, nil, nil)
	assert.True(t, wantFailure(t, err, "canceled").NotSent, "after the end of the context")
	assert.Is(t, err, context.Canceled, "after the end of the context")
}

func TestContextEndsWhileAnswered(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel(errors.New("the caller's own cause"))
		<-r.Context().Done()
	})
	_, err := local(t, Options{}).PostForm(ctx, at, nil, nil)
	assert.False(t, wantFailure(t, err, "canceled").NotSent)
	assert.Is(t, err, context.Canceled)
}

func TestWholeTimeout(t *testing.T) {
	for _, stage := range []string{"header", "body"} {
		t.Run(stage, func(t *testing.T) {
			at := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if stage == "body" {
					answerJSON(w, 200, "{")
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			})
			c := local(t, Options{})
			c.timeout /= 300
			_, err := c.PostForm(t.Context(), at, nil, nil)
			wantFailure(t, err, "30 seconds")
			assert.False(t, errors.Is(err, context.DeadlineExceeded), "it looks as if the caller's context had ended")
		})
	}
}

func TestTLS(t *testing.T) {
	newServer := func(version uint16) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerJSON(w, 200, `{}`) }))
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	s := newServer(0)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	mine := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10}
	assert.Value(local(t, Options{TLS: mine}).Get(t.Context(), s.URL, nil))(t)
	get := func(config *tls.Config, url string) error {
		return errOf(local(t, Options{TLS: config}).Get(t.Context(), url, nil))
	}
	assert.True(t, wantFailure(t, get(nil, s.URL), "unknown authority").NotSent, "not sent without a certificate")
	assert.True(t, wantFailure(t, get(mine, newServer(tls.VersionTLS11).URL), "TLS").NotSent, "not sent by TLS 1.1")
	wantFailure(t, get(mine, "https://localhost:"+parsePort(t, s.URL)), "another name")
	assert.Equal(t, mine.MinVersion, tls.VersionTLS10, "the caller's version")
	assert.True(t, mine.NextProtos == nil, "the caller's protocols are as before")
}

func TestProxy(t *testing.T) {
	var asked, through atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		through.Add(1)
		if r.Method == http.MethodConnect {
			http.Error(w, "secret", http.StatusForbidden)
			return
		}
		answerJSON(w, 200, fmt.Sprintf(`{"host":%q}`, r.Host))
	})
	c := New(Options{AllowHTTP: true, Proxy: func(*http.Request) (*url.URL, error) {
		asked.Add(1)
		return url.Parse(proxy)
	}})
	t.Cleanup(c.Close)
	// The proxy itself is on this machine, which only the configuration may say.
	assert.Equal(t, string(assert.Value(c.Get(t.Context(), "http://mcp.example/x", nil))(t).Body), `{"host":"mcp.example"}`, "answer")
	refused := errOf(c.PostForm(t.Context(), "https://mcp.example/x", nil, nil))
	assert.True(t, wantFailure(t, refused, "proxy refuses the connection: HTTP status 403").NotSent, "not sent")
	assert.Equal(t, asked.Load(), 2, "questions for the proxy")
	assert.Equal(t, through.Load(), 2, "requests by the proxy")
	// Addresses that can be seen are checked all the same.
	for _, to := range []string{"http://169.254.169.254/", "https://10.0.0.1/", "https://localhost/", proxy} {
		assert.As[*Refusal](t, errOf(c.Get(t.Context(), to, nil)), "%s", to)
	}
	assert.Equal(t, through.Load(), 2, "a refused request went to the proxy")
	broken := New(Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("http://user:secret@proxy") }})
	_, err := broken.Get(t.Context(), "https://mcp.example/", nil)
	wantFailure(t, err, "proxy")
	assert.Lacks(t, err.Error(), "secret")
}

func TestConcurrentUse(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) { answerJSON(w, 200, `{}`) })
	c := local(t, Options{})
	var users sync.WaitGroup
	for i := range 16 {
		users.Go(func() {
			for range 8 {
				assert.Equal(t, errors.Join(everything(t, c, at)...), nil)
				if i == 0 {
					c.Close()
				}
			}
		})
	}
	users.Wait()
}

// O5: a redirect to another origin is not followed, and takes nothing along.
func TestRedirectsToOtherOrigins(t *testing.T) {
	canary := newCanary(t)
	z := &zone{names: map[string][]string{"mcp.example": {"127.0.0.1"}, "sub.mcp.example": {"127.0.0.1"}, "other.example": {"127.0.0.1"}}}
	o := Options{AllowHTTP: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: z.resolver(t)}
	for _, status := range statuses {
		for name, target := range map[string]string{
			"other port":   "http://mcp.example:" + canary.port,
			"other host":   "http://other.example:" + canary.port,
			"subdomain":    "http://sub.mcp.example:" + canary.port,
			"other scheme": "https://mcp.example:PORT",
			"no scheme":    "//other.example:" + canary.port,
			"address":      canary.url,
			"metadata":     "http://169.254.169.254/latest",
			"no address":   "javascript:x",
			"user":         "http://u:secret@mcp.example:PORT/",
			"odd":          "http://mcp.example:PORT:1/",
			"nowhere":      "",
		} {
			t.Run(fmt.Sprintf("%d/%s", status, name), func(t *testing.T) {
				hits, port := 0, ""
				at := serve(t, func(w http.ResponseWriter, r *http.Request) {
					hits++
					if to := strings.ReplaceAll(target, "PORT", port); to != "" {
						w.Header().Set("Location", to+"?q=secret")
					}
					w.WriteHeader(status)
				})
				port = parsePort(t, at)
				c := New(o)
				t.Cleanup(c.Close)
				for _, err := range everything(t, c, "http://mcp.example:"+port+"/x") {
					assert.True(t, errors.As(err, new(*Refusal)) || errors.As(err, new(*Failure)), "%v is a *Refusal or a *Failure", err)
					assert.Lacks(t, err.Error(), "secret")
				}
				assert.Equal(t, hits, 3, "requests")
			})
		}
	}
	canary.wantUntouched(t)
}

// O5: never from https to http.
func TestRedirectToHTTP(t *testing.T) {
	c := New(Options{AllowHTTP: true})
	for _, location := range []string{"http://mcp.example/", "http://mcp.example:443/"} {
		from := &url.URL{Scheme: "https", Host: "mcp.example", Path: "/"}
		wantFailure(t, errOf(c.follow(from, &Answer{Status: 302, Header: http.Header{"Location": {location}}})), "another origin")
	}
}

func TestRedirectsWithinTheOrigin(t *testing.T) {
	for _, status := range statuses {
		var got []string
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("X"))
			if r.URL.Path == "/3" {
				answerJSON(w, 200, `{}`)
				return
			}
			w.Header().Set("Location", map[string]string{
				"/0": "1", "/1": "http://" + r.Host + "/2#f", "/2": "//" + r.Host + "/3", "/long": "/0",
			}[r.URL.Path])
			w.WriteHeader(status)
		})
		c := local(t, Options{})
		assert.Value(c.Get(t.Context(), at+"/0", http.Header{"X": {"y"}}))(t)
		assert.Equal(t, strings.Join(got, ","), "GET /0 y,GET /1 y,GET /2 y,GET /3 y", "%d", status)
		got = nil
		wantFailure(t, errOf(c.Get(t.Context(), at+"/long", nil)), "more than 3 times")
		assert.Equal(t, len(got), 4, "%d", status)
		got = nil
		f := wantFailure(t, assert.Err(c.PostForm(t.Context(), at+"/0", nil, url.Values{"code": {"x"}})), "not followed")
		assert.Equal(t, f.Status, status, "status")
		assert.False(t, f.NotSent, "it was sent")
		assert.Equal(t, strings.Join(got, ","), "POST /0 ", "%d", status)
	}
}

// Only what can be followed is a redirect.
func TestOtherStatusesOf300(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/x")
		w.WriteHeader(http.StatusMultipleChoices)
	})
	a := assert.Value(local(t, Options{}).Get(t.Context(), at, nil))(t)
	assert.Equal(t, a.Status, 300, "status")
	assert.Equal(t, len(a.Body), 0, "bytes of the answer")
}
