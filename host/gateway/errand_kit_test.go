package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A deleter is a server whose tool delete counts its calls by their argument, served by a gateway whose policy
// asks about every call.
type deleter struct {
	url     string
	host    *host.Host
	gateway *gateway.Gateway

	mu   sync.Mutex
	runs map[string]int
}

func newDeleter(t *testing.T, serverModern bool, o *gateway.Options) *deleter {
	t.Helper()
	if o == nil {
		o = &gateway.Options{}
	}
	d := &deleter{runs: map[string]int{}}
	server := newSDKServer()
	addTool(server, "delete", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.runs[in.Text]++
		return "deleted " + in.Text
	})
	server.AddTool(&sdk.Tool{Name: "any", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	if serverModern {
		sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(_ context.Context, r *sdk.CallToolRequest, in anyInput) (*sdk.CallToolResult, any, error) {
			if _, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.runs[in.Text]++
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "asked " + in.Text}}}, nil, nil
			}
			question := &sdk.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": question}}, nil, nil
		})
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: serverModern}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	ho := &host.Options{StateDir: host.NoState, Registry: registry.New(&registry.Options{
		Approvals: approval.Options{Replica: o.Replica},
		Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask, Reason: "it destroys"}, nil
		}),
	})}
	gateway.Prepare(ho)
	d.host = hosttest.Open(t, hosttest.Write(t, "files", fmt.Sprintf(`{"type":"http","url":%q}`, web.URL)), hosttest.Patient(ho))
	if o.Authenticate == nil {
		o.Authenticate = userOfField
	}
	d.url, d.gateway = serveGateway(t, d.host, o)
	return d
}

// ran returns how often the tool was called with the argument.
func (d *deleter) ran(text string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[text]
}

// delete calls the tool.
func (d *deleter) delete(ctx context.Context, c *mcp.Client, text string) (*mcp.CallToolResult, error) {
	return c.CallTool(ctx, "files__delete", json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), nil)
}

// waiting returns what a result says of the approval that its call waits for.
func waiting(t *testing.T, res *mcp.CallToolResult) (id, page string) {
	t.Helper()
	meta, _ := res.Meta[gateway.MetaApproval].(map[string]any)
	id, _ = meta["id"].(string)
	page, _ = meta["url"].(string)
	if !res.IsError || id == "" || page == "" || meta["expires"] == "" {
		t.Fatalf("got %q with _meta %v, want an error with the id, the URL and the end of the approval", res.Text(), res.Meta)
	}
	return id, page
}

// A browser is one of a person, who is known by the field X-User if user is set.
type browser struct {
	http *http.Client
	user string
	key  string // that the person gives when they are asked for it
}

func newBrowser(t *testing.T, user string) *browser {
	t.Helper()
	jar := assert.Value(cookiejar.New(nil))(t)
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{http: c, user: user}
}

// A seen is an answer that a browser has got.
type seen struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(ctx context.Context, method, page string, form url.Values) (*seen, error) {
	r, err := http.NewRequestWithContext(ctx, method, page, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if b.user != "" {
		r.Header.Set(userField, b.user)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
	}
	resp, err := b.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &seen{resp.StatusCode, resp.Header, string(body)}, err
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]*)"`)

// token is that of the form on the page; empty if there is none.
func (s *seen) token() string {
	if m := tokenField.FindStringSubmatch(s.body); m != nil {
		return m[1]
	}
	return ""
}

// open opens a page, and says who the person is if it wants to know.
func (b *browser) open(ctx context.Context, page string) (*seen, error) {
	s, err := b.do(ctx, http.MethodGet, page, nil)
	if err != nil || !strings.Contains(s.body, `name="key"`) || b.key == "" {
		return s, err
	}
	return b.do(ctx, http.MethodPost, page, url.Values{"token": {s.token()}, "key": {b.key}})
}

// decide opens the page of a call, and decides.
func (b *browser) decide(ctx context.Context, page, decision, note string) (*seen, error) {
	s, err := b.open(ctx, page)
	if err != nil {
		return nil, err
	}
	if s.status != http.StatusOK || s.token() == "" {
		return s, fmt.Errorf("the page has status %d and no form", s.status)
	}
	s, err = b.do(ctx, http.MethodPost, page, url.Values{"token": {s.token()}, "decision": {decision}, "note": {note}})
	if err == nil && s.status != http.StatusOK {
		err = errors.New("status " + fmt.Sprint(s.status))
	}
	return s, err
}

// A journal is what was logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

var styles = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// checkPolicy checks that a page loads and runs nothing, and is kept nowhere.
func checkPolicy(t *testing.T, s *seen) {
	t.Helper()
	m := styles.FindStringSubmatch(s.body)
	if m == nil {
		t.Fatalf("got %s, want a page", s.body)
	}
	sum := sha256.Sum256([]byte(m[1]))
	for field, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"Cache-Control":               "no-store",
		"Referrer-Policy":             "same-origin",
		"X-Content-Type-Options":      "nosniff",
		"Access-Control-Allow-Origin": "",
	} {
		assert.Equal(t, s.header.Get(field), want, "%s", field)
	}
	assert.Lacks(t, s.body, "<script", "a script in")
}
