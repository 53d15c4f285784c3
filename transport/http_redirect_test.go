package transport_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestHTTPRedirects(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, same := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d same origin %v", code, same), func(t *testing.T) {
				var leaked atomic.Int32
				other := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
				s := &script{call: func(p *post) { p.json(200, answer) }}
				mux := http.NewServeMux()
				mux.Handle("/new", s)
				mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
					target := "/new"
					if !same {
						target = other + "/?key=s3cret"
					}
					http.Redirect(w, r, target, code)
				})
				l := dial(t, &transport.HTTP{URL: listen(t, mux) + "/old", Header: http.Header{"Authorization": {"Bearer s3cret"}}})
				got, err := ask(t, l)
				follows := same && code >= 307
				if follows && (err != nil || got != `{"ok":true}` || s.last().Header.Get("Authorization") == "") {
					t.Errorf("got %s, %v", got, err)
				}
				if !follows {
					var redirect *transport.RedirectError
					if !errors.As(err, &redirect) || redirect.Code != code {
						t.Fatalf("got %v", err)
					}
					want := mcp.NotSent
					if code == 303 {
						want = mcp.Unknown
					}
					wantOutcome(t, err, want)
					if strings.Contains(err.Error(), "s3cret") {
						t.Errorf("the error shows a secret: %v", err)
					}
				}
				assert.Equal(t, leaked.Load(), 0, "requests reached the other origin")
			})
		}
	}
}

func TestHTTPRedirectLoop(t *testing.T) {
	var n atomic.Int32
	l := dial(t, &transport.HTTP{URL: listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))})
	_, err := ask(t, l)
	wantOutcome(t, err, mcp.NotSent)
	if n.Load() > 5 {
		t.Errorf("%d requests", n.Load())
	}
}

func TestHTTPOptions(t *testing.T) {
	for name, c := range map[string]struct {
		url    string
		header http.Header
		field  string
	}{
		"no URL":       {"", nil, "URL"},
		"no scheme":    {"server/s3cret", nil, "URL"},
		"other scheme": {"ftp://server/?s3cret", nil, "URL"},
		"no host":      {"http:///s3cret", nil, "URL"},
		"broken":       {"http://[::1/s3cret", nil, "URL"},
		"password":     {"http://user:s3cret@server/", nil, "URL"},
		"line break":   {"http://server/", http.Header{"X": {"s3cret\r\nY: 1"}}, "Header"},
		"NUL":          {"http://server/", http.Header{"X": {"s3cret\x00"}}, "Header"},
		"bad name":     {"http://server/", http.Header{"X Y": {"s3cret"}}, "Header"},
		"empty name":   {"http://server/", http.Header{"": {"s3cret"}}, "Header"},
	} {
		for kind, tr := range map[string]mcp.Transport{
			"HTTP": &transport.HTTP{URL: c.url, Header: c.header},
			"SSE":  &transport.SSE{URL: c.url, Header: c.header},
			"Auto": &transport.Auto{URL: c.url, Header: c.header},
		} {
			_, err := tr.Connect(t.Context())
			var option *transport.OptionError
			if !errors.As(err, &option) || !strings.HasSuffix(option.Field, "."+c.field) {
				t.Errorf("%s, %s: got %v", kind, name, err)
				continue
			}
			wantOutcome(t, err, mcp.NotSent)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s, %s: the error shows a value: %v", kind, name, err)
			}
		}
	}
}

// A redirect does not bring credentials of its own.
func TestHTTPRedirectWithCredentials(t *testing.T) {
	s := &script{call: func(p *post) { p.json(200, answer) }}
	mux := http.NewServeMux()
	mux.Handle("/new", s)
	mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://user:s3cret@"+r.Host+"/new", http.StatusTemporaryRedirect)
	})
	_, err := ask(t, dial(t, &transport.HTTP{URL: listen(t, mux) + "/old"}))
	var redirect *transport.RedirectError
	if !errors.As(err, &redirect) || strings.Contains(err.Error(), "s3cret") || len(s.requests("")) > 0 {
		t.Errorf("got %v, and %d requests", err, len(s.requests("")))
	}
}
