package guardhttp

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var statuses = []int{301, 302, 303, 307, 308}

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
					var r *Refusal
					var f *Failure
					if !errors.As(err, &r) && !errors.As(err, &f) {
						t.Errorf("%v, want a *Refusal or a *Failure", err)
					} else if strings.Contains(err.Error(), "secret") {
						t.Errorf("%q shows the query", err)
					}
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
		_, err := c.follow(from, 302, location)
		wantFailure(t, err, "another origin")
	}
}

func TestRedirectsWithinTheOrigin(t *testing.T) {
	for _, status := range statuses {
		var got []string
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("X"))
			switch r.URL.Path {
			case "/3":
				answerJSON(w, 200, `{}`)
			case "/0":
				w.Header().Set("Location", "1")
				w.WriteHeader(status)
			case "/1":
				w.Header().Set("Location", "http://"+r.Host+"/2#f")
				w.WriteHeader(status)
			case "/2":
				w.Header().Set("Location", "//"+r.Host+"/3")
				w.WriteHeader(status)
			case "/long":
				w.Header().Set("Location", "/0")
				w.WriteHeader(status)
			}
		})
		c := local(t, Options{})
		assert.Value(c.Get(t.Context(), at+"/0", http.Header{"X": {"y"}}))(t)
		assert.Equal(t, strings.Join(got, ","), "GET /0 y,GET /1 y,GET /2 y,GET /3 y", "%d", status)
		got = nil
		_, err := c.Get(t.Context(), at+"/long", nil)
		wantFailure(t, err, "more than 3 times")
		assert.Equal(t, len(got), 4, "%d", status)
		got = nil
		_, err = c.PostForm(t.Context(), at+"/0", nil, url.Values{"code": {"x"}})
		f := wantFailure(t, err, "not followed")
		assert.Equal(t, [...]any{f.Status, f.NotSent}, [...]any{status, false})
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
	assert.Equal(t, [...]any{a.Status, a.Body == nil}, [...]any{300, true})
}
