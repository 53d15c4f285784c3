package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A rule is what a fake provider answers instead of what the specification wants. In all texts {AS}
// is the origin of the authorization server, {RS} that of the server behind it, {ACCESS} and {REFRESH}
// are the tokens that a right answer would have, {STATE} is the state of a login.
type rule struct {
	at    string   // method and address of the request
	has   []string // in the query, the Authorization field and the body, all decoded
	lacks []string

	status int
	field  string // a header field, "Name: value"
	body   string // JSON, a form, a page or text, which its beginning tells
}

// A reported login is one of a public report, rebuilt: the user logs in, makes a call, and
// another one when the token has expired.
type reported struct {
	as    authtest.Options
	rs    authtest.ResourceOptions
	auth  auth.Config // what the user has configured, without URL
	rules []rule
	sent  []string // what some request has, as rule.has
	never []string // what none has
	alone bool     // responses do not name their issuer
	again bool     // there is nothing to renew the token with: the user logs in again
	fails []string // what the user is told, if it does not work
}

// A fakeProvider answers by the rules of a report.
type fakeProvider struct {
	*reported
	origins *strings.Replacer
	mu      sync.Mutex // guards seen
	seen    []string   // the requests, as rules look at them
}

// bypass marks requests that the rules leave alone.
const bypass = "Bypass-Rules"

func (p *fakeProvider) answer(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get(bypass) != "" {
		return false
	}
	sent, _ := io.ReadAll(r.Body)
	query, _ := url.QueryUnescape(r.URL.RawQuery)
	body, err := url.QueryUnescape(string(sent))
	if err != nil {
		body = string(sent)
	}
	at := r.Method + " http://" + r.Host + r.URL.Path
	text := at + "?" + query + "& Authorization: " + r.Header.Get("Authorization") + " &" + body + "&"
	p.mu.Lock()
	p.seen = append(p.seen, text)
	p.mu.Unlock()
	has := func(part string) bool { return strings.Contains(text, p.origins.Replace(part)) }
	for _, rule := range p.rules {
		if p.origins.Replace(rule.at) != at || slices.ContainsFunc(rule.has, func(s string) bool { return !has(s) }) || slices.ContainsFunc(rule.lacks, has) {
			continue
		}
		answer := p.origins.Replace(rule.body)
		if strings.Contains(answer, "{ACCESS}") {
			answer = tokensOf(r, sent).Replace(answer)
		}
		kind := "text/plain"
		switch {
		case strings.HasPrefix(answer, "{"), strings.HasPrefix(answer, "["):
			kind = "application/json"
		case strings.HasPrefix(answer, "<"):
			kind = "text/html"
		case strings.Contains(answer, "access_token="):
			kind = "application/x-www-form-urlencoded"
		}
		w.Header().Set("Content-Type", kind)
		if name, value, ok := strings.Cut(rule.field, ": "); ok {
			w.Header().Set(name, strings.ReplaceAll(p.origins.Replace(value), "{STATE}", r.URL.Query().Get("state")))
		}
		w.WriteHeader(rule.status)
		_, _ = io.WriteString(w, answer)
		return true
	}
	return false
}

// tokensOf makes a token request that the rules leave alone.
func tokensOf(r *http.Request, body []byte) *strings.Replacer {
	right, _ := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.Path, strings.NewReader(string(body)))
	right.Header = r.Header.Clone()
	right.Header.Set(bypass, "1")
	var tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(right); err == nil {
		_ = json.NewDecoder(resp.Body).Decode(&tokens)
		_ = resp.Body.Close()
	}
	return strings.NewReplacer("{ACCESS}", tokens.Access, "{REFRESH}", tokens.Refresh)
}

// start returns an env whose servers answer by the rules.
func (c *reported) start(t *testing.T) (*env, *fakeProvider) {
	t.Helper()
	env := newEnv(t, &c.as, &c.rs)
	p := &fakeProvider{reported: c, origins: strings.NewReplacer(
		"{AS}", strings.TrimSuffix(env.as.Issuer, c.as.Path), "{RS}", strings.TrimSuffix(env.rs.URL, "/mcp"))}
	for _, e := range []authtest.Endpoint{"", authtest.MetadataEndpoint, authtest.AuthorizationEndpoint, authtest.TokenEndpoint,
		authtest.RegistrationEndpoint, authtest.RevocationEndpoint, authtest.ResourceEndpoint} {
		env.as.Fail(e, -1, authtest.Fault{Answer: p.answer})
		env.rs.Fail(e, -1, authtest.Fault{Answer: p.answer})
	}
	config := c.auth
	config.Server, config.URL, config.Issuer = "s", env.rs.URL, p.origins.Replace(config.Issuer)
	if own := config.Client; own != nil {
		config.Client = new(*own)
		config.Client.Issuer = env.as.Issuer
	}
	if given := config.Authority; given != nil {
		config.Authority = &auth.Authority{AuthorizationEndpoint: p.origins.Replace(given.AuthorizationEndpoint), TokenEndpoint: p.origins.Replace(given.TokenEndpoint)}
	}
	env.config = &config
	return env, p
}

// logIn makes a call, and logs in if that is wanted. The error is that of a call.
func (c *reported) logIn(env *env, m *Manager) error {
	err := env.call(env.ctx, m, alice)
	var required *auth.LoginRequiredError
	if !errors.As(err, &required) || required.URL == "" {
		return err
	}
	callback, err := env.as.Approve(env.ctx, required.URL)
	if err != nil {
		return err
	}
	if c.alone {
		at := strings.Index(callback, "iss=")
		callback = callback[:at] + callback[min(strings.IndexByte(callback[at:]+"&", '&')+at, len(callback)):]
	}
	if err := env.complete(m, callback); err != nil {
		told := env.call(env.ctx, m, alice) // the user who calls learns of it
		assert.Contains(env.t, assert.Value(m.Status(env.ctx, alice))(env.t).Reason+fmt.Sprint(told), strings.SplitN(err.Error(), ": ", 3)[2], "what is told later")
		return told
	}
	return env.call(env.ctx, m, alice)
}

func runReports(t *testing.T, reports map[string]reported) {
	for name, c := range reports {
		t.Run(name, func(t *testing.T) {
			env, p := c.start(t)
			m := env.manager(nil)
			err := c.logIn(env, m)
			if len(c.fails) == 0 {
				assert.OK(t, err, "the login")
				env.as.ExpireAll()
				if c.again {
					err = env.mustNeedLogin(m, alice)
					assert.OK(t, c.logIn(env, m), "the next login")
				} else {
					assert.OK(t, env.call(env.ctx, m, alice), "after the token's end")
				}
			} else {
				assert.Fails(t, err)
			}
			for _, says := range c.fails {
				assert.Contains(t, fmt.Sprint(err), p.origins.Replace(says))
			}
			p.mu.Lock()
			all := strings.Join(p.seen, "\n")
			p.mu.Unlock()
			for _, sent := range c.sent {
				assert.Contains(t, all, p.origins.Replace(sent), "requests")
			}
			for _, never := range c.never {
				assert.Lacks(t, all, p.origins.Replace(never), "requests")
			}
		})
	}
}
