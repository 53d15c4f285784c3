//go:build integration

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
)

// A testReplica is a replica on PostgreSQL at a URL of its own.
type testReplica struct {
	url string
	end func()
}

// startReplica starts a replica of the service at a URL.
func startReplica(t *testing.T, name, service, database string) *testReplica {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	db, d, err := openDatabase(ctx, database)
	assert.OK(t, err)
	s := assert.Value(newSite(ctx, name, service, auth.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32))), d.Store))(t)
	web := httptest.NewServer(s.handler())
	r := &testReplica{web.URL, sync.OnceFunc(func() {
		cancel()
		web.Close()
		s.close()
		_ = db.Close()
	})}
	t.Cleanup(r.end)
	return r
}

// TestTwoReplicas tells the story of two users, whose browsers go now to one replica and now to the other.
func TestTwoReplicas(t *testing.T) {
	database := pgtest.New(t).URL
	const service = "http://127.0.0.1:1" // where browsers come back to, which the test turns to a replica
	authorization := assert.Value(authtest.New(nil))(t)
	t.Cleanup(authorization.Close)
	notes := authorization.Protect(serve(newNotes()), nil).URL
	clock := httptest.NewServer(serve(newClock()))
	t.Cleanup(clock.Close) // after the replicas, which listen to it
	replicaA, replicaB := startReplica(t, "A", service, database), startReplica(t, "B", service, database)
	a, b := replicaA.url, replicaB.url
	alice, bob := newBrowser(t, "alice"), newBrowser(t, "bob")

	alice.post(a, "/signin", "user", "alice")
	bob.post(a, "/signin", "user", "bob")
	alice.post(a, "/servers", "name", "notes", "url", notes, "trust", "on")
	bob.post(a, "/servers", "name", "clock", "url", clock.URL, "trust", "on")
	bob.until(a, "clock: ready, 1 tools")
	bob.until(b, "clock: ready, 1 tools")

	// A login that A has begun is completed by B, when the browser comes back.
	alice.until(a, "Log in at notes")
	page := alice.link(alice.post(a, "/servers/notes/login"))
	alice.returnFromLogin(authorization, page, service, b)
	alice.until(b, "notes: ready, 2 tools")
	alice.until(a, "notes: ready, 2 tools")

	// A call that waits at A is approved at B, and made by A.
	alice.post(a, "/prompt", "prompt", "today; notes__list")
	alice.until(a, "agent at A: today: "+time.Now().UTC().Format("2006"))
	alice.until(a, "agent at A: notes__list: the notes of alice are []")
	alice.post(a, "/prompt", "prompt", `notes__add {"text": "buy milk"}`)
	alice.until(a, "agent at A: notes__add waits for you")
	milk := alice.waiting(b)
	alice.post(b, milk, "decision", "approve")
	alice.until(b, "agent at A: notes__add: written down")

	// Users know nothing of each other.
	bob.post(b, "/prompt", "prompt", "clock__now; notes__list")
	bob.until(b, "agent at B: clock__now: it is")
	bob.until(b, `agent at B: notes__list: `)
	assert.Lacks(t, bob.send(http.MethodGet, b+"/", nil), "milk", "bob: the notes of alice")

	// Without A the service goes on: the call that waited there is made again at B.
	alice.post(a, "/prompt", "prompt", `notes__add {"text": "call bob"}`)
	lost := alice.waiting(b, milk)
	replicaA.end()
	alice.post(b, "/prompt", "prompt", `notes__add {"text": "call bob"}`)
	alice.until(b, "agent at B: notes__add waits for you")
	alice.post(b, alice.waiting(b, milk, lost), "decision", "approve")
	alice.until(b, "agent at B: notes__add: written down")
	alice.post(b, "/prompt", "prompt", "notes__list")
	alice.until(b, `agent at B: notes__list: the notes of alice are ["buy milk" "call bob"]`)
	assert.Equal(t, authorization.Count(authtest.AuthorizationEndpoint), 1, "logins")
}

// A browser is that of a user.
type browser struct {
	t      *testing.T
	user   string
	client *http.Client
}

func newBrowser(t *testing.T, user string) *browser {
	b := &browser{t, user, &http.Client{Jar: assert.Value(cookiejar.New(nil))(t), Transport: &http.Transport{}}}
	t.Cleanup(b.client.CloseIdleConnections)
	return b
}

// send sends a request, follows where it leads, and returns the text of the page there.
func (b *browser) send(method, address string, form url.Values) string {
	b.t.Helper()
	req := assert.Value(http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode())))(b.t)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res := assert.Value(b.client.Do(req))(b.t)
	defer res.Body.Close()
	body := assert.Value(io.ReadAll(res.Body))(b.t)
	if res.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %s %s: %s: %s", b.user, method, address, res.Status, body)
	}
	return html.UnescapeString(string(body))
}

// post sends a form of names and values.
func (b *browser) post(base, path string, fields ...string) string {
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.send(http.MethodPost, base+path, form)
}

// await looks at the page again and again until it is as wanted.
func (b *browser) await(base, want string, is func(page string) bool) {
	b.t.Helper()
	hosttest.Eventually(b.t, b.user+": "+want, func() bool { return is(b.send(http.MethodGet, base+"/", nil)) })
}

func (b *browser) until(base, want string) {
	b.t.Helper()
	b.await(base, want, func(page string) bool { return strings.Contains(page, want) })
}

// waiting waits until a call waits for approval that is none of those known, and returns where it is answered.
func (b *browser) waiting(base string, known ...string) (path string) {
	form := regexp.MustCompile(`action="(/calls/[^"]+)"`)
	b.await(base, "another call that waits", func(page string) bool {
		for _, match := range form.FindAllStringSubmatch(page, -1) {
			if path = match[1]; !slices.Contains(known, path) {
				return true
			}
		}
		return false
	})
	return path
}

// link returns where a page says to log in.
func (b *browser) link(page string) string {
	b.t.Helper()
	match := regexp.MustCompile(`href="([^"]+)" rel`).FindStringSubmatch(page)
	if match == nil {
		b.t.Fatalf("%s: got the page %s, want a link", b.user, page)
	}
	return match[1]
}

// returnFromLogin logs in where a page is, and has the browser come back to one of the replicas.
func (b *browser) returnFromLogin(authorization *authtest.Server, page, service, replica string) {
	b.t.Helper()
	callback := assert.Value(authorization.ApproveAs(b.t.Context(), b.user, page))(b.t)
	b.send(http.MethodGet, strings.Replace(callback, service, replica, 1), nil)
}

func serve(server *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// newNotes returns a server that keeps the notes of each of its users apart.
func newNotes() *sdk.Server {
	var mu sync.Mutex
	notes := map[string][]string{}
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	userOf := func(req *sdk.CallToolRequest) string { return req.Extra.Header.Get("Authtest-User") } // who has logged in
	type note struct {
		Text string `json:"text" jsonschema:"what to write down"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "add", Description: "Write a note down."},
		func(_ context.Context, req *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			notes[userOf(req)] = append(notes[userOf(req)], in.Text)
			return text("written down"), nil, nil
		})
	sdk.AddTool(server, &sdk.Tool{Name: "list", Description: "List the notes.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			return text(fmt.Sprintf("the notes of %s are %q", userOf(req), notes[userOf(req)])), nil, nil
		})
	return server
}

// newClock returns a server without users.
func newClock() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "now", Description: "Tell the time.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("it is " + time.Now().UTC().Format(time.Kitchen)), nil, nil
		})
	return server
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
