package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// png is an image of one pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// newLab returns a server with an image, a tool that changes something, and one that
// reports its progress.
func newLab(t *testing.T) http.Handler {
	t.Helper()
	image := assert.Value(base64.StdEncoding.DecodeString(png))(t)
	type none struct{}
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	add := func(name string, reads bool, call func(context.Context, *sdk.CallToolRequest) sdk.Content) {
		tool := &sdk.Tool{Name: name, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads}}
		sdk.AddTool(server, tool, func(ctx context.Context, req *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{call(ctx, req)}}, nil, nil
		})
	}
	add("picture", true, func(context.Context, *sdk.CallToolRequest) sdk.Content {
		return &sdk.ImageContent{MIMEType: "image/png", Data: image}
	})
	add("wipe", false, func(context.Context, *sdk.CallToolRequest) sdk.Content { return &sdk.TextContent{Text: "wiped"} })
	add("vault", true, func(context.Context, *sdk.CallToolRequest) sdk.Content { return &sdk.TextContent{Text: "gold"} })
	add("count", true, func(ctx context.Context, req *sdk.CallToolRequest) sdk.Content {
		_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "counting\x1b[2J",
		})
		return &sdk.TextContent{Text: "counted"}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

// A screen keeps what is written, and tells of each address at which to log in.
type screen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	login func(url string)
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, url, ok := strings.Cut(string(p), " waits for a login: "); ok {
		s.login(strings.TrimSpace(url))
	}
	return s.text.Write(p)
}

// visit opens a page, again and again while the program is not ready for it: this user
// may be quicker than the prompt.
func visit(browser *http.Client, url string) error {
	for {
		page, err := browser.Get(url)
		if err != nil {
			return err
		}
		if err := page.Body.Close(); err != nil || page.StatusCode != http.StatusBadRequest {
			return err
		}
	}
}

// The user logs in, sees the progress, approves one call and refuses another, and logs
// in again with more rights; the model sees the image.
func TestUser(t *testing.T) {
	as := authtest.NewServer(t, nil)
	rs := as.Protect(newLab(t), &authtest.ResourceOptions{Require: authtest.ToolScopes(map[string][]string{"vault": {"admin"}})})
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"lab": {"url": %q, "trust": true}}}`, rs.URL), 0o600))
	calls := func(names ...string) reply {
		var all []string
		for i, name := range names {
			all = append(all, fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":"lab__%s","arguments":"{}"}}`, i, name))
		}
		return says(`{"role":"assistant","content":"","tool_calls":[` + strings.Join(all, ",") + `]}`)
	}
	m := newModel(t, calls("wipe", "picture"), calls("wipe"), calls("count"), calls("vault"), says(`{"role":"assistant","content":"Done."}`))

	var browser sync.WaitGroup
	show := &screen{login: func(url string) {
		browser.Go(func() {
			callback, err := as.Approve(t.Context(), url)
			if err == nil {
				err = visit(as.Client(), callback)
			}
			assert.Equal(t, err, nil, "login")
		})
	}}
	env := map[string]string{"OPENAI_BASE_URL": m.url, "OPENAI_MODEL": "scripted-1"}
	var stdout bytes.Buffer
	status := run(t.Context(), []string{"-config", path, "-browser=false", "Wipe."}, func(name string) string { return env[name] },
		strings.NewReader("y\nn\n"), &stdout, show)
	browser.Wait()
	assert.Equal(t, [...]any{status, stdout.String()}, [...]any{0, "Done.\n"})
	for _, want := range []string{
		"agent: server lab waits for a login: " + as.Issuer,
		"agent: approve the call lab__wipe {}? [y/n]\nagent: approve the call lab__wipe {}? [y/n]\n",
		"agent: lab__count (c0): 1 of 2 counting<U+001B>[2J\n",
		"agent: the call of lab__vault waits for a login: " + as.Issuer,
	} {
		assert.Contains(t, show.text.String(), want)
	}
	requests := m.played()
	for i, want := range []string{
		`{"role":"tool","content":"wiped","tool_call_id":"c0"}`,
		`{"role":"tool","content":"The tool failed:\ncalling tool \"lab__wipe\" is not allowed: the user refused it","tool_call_id":"c0"}`,
		`{"role":"tool","content":"counted","tool_call_id":"c0"}`,
		`{"role":"tool","content":"gold","tool_call_id":"c0"}`,
	} {
		assert.Contains(t, requests[i+1].messages(), want, "request %d", i+2)
	}
	var image struct {
		Role    string
		Content []Part
	}
	assert.OK(t, json.Unmarshal(requests[1].Messages[len(requests[1].Messages)-1], &image))
	n := len(image.Content)
	assert.Equal(t, [...]any{image.Role, n}, [...]any{"user", 2})
	assert.True(t, image.Content[n-1].ImageURL != nil, "image.Content[n-1].ImageURL != nil")
	assert.Equal(t, image.Content[1].ImageURL.URL, "data:image/png;base64,"+png, "the image")
}
