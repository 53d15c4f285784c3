package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A wire is a transport of mcp-go whose answers are scripted.
type wire struct {
	answer func(ctx context.Context, method string, params json.RawMessage) (result string, err error)

	mu     sync.Mutex
	notify func(gomcp.JSONRPCNotification)
}

func (w *wire) Start(context.Context) error { return nil }
func (w *wire) Close() error                { return nil }
func (w *wire) GetSessionId() string        { return "" }

func (w *wire) SendNotification(context.Context, gomcp.JSONRPCNotification) error { return nil }

func (w *wire) SetNotificationHandler(handler func(gomcp.JSONRPCNotification)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notify = handler
}

func (w *wire) changed() { w.tell(gomcp.MethodNotificationToolsListChanged) }

func (w *wire) tell(method string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notify(gomcp.JSONRPCNotification{Notification: gomcp.Notification{Method: method}})
}

// progress tells of the progress of a call that wants to know.
func (w *wire) progress(params json.RawMessage) {
	var call struct {
		Meta struct {
			Token any `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(params, &call)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notify(gomcp.JSONRPCNotification{Notification: gomcp.Notification{Method: "notifications/progress", Params: gomcp.NotificationParams{
		AdditionalFields: map[string]any{"progressToken": call.Meta.Token, "progress": 1.0},
	}}})
}

func (w *wire) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	params, err := json.Marshal(request.Params)
	if err != nil {
		return nil, err
	}
	result, err := w.answer(ctx, request.Method, params)
	var refusal *gomcp.JSONRPCErrorDetails
	if r := (refusalError{}); errors.As(err, &r) {
		refusal, err = &r.details, nil
	}
	if err != nil {
		return nil, err
	}
	return &transport.JSONRPCResponse{ID: request.ID, Result: json.RawMessage(result), Error: refusal}, nil
}

// A refusalError is an error with which a server answers.
type refusalError struct{ details gomcp.JSONRPCErrorDetails }

func (e refusalError) Error() string { return e.details.Message }

// scripted returns a source whose server answers as it is told.
func scripted(t *testing.T, answer func(ctx context.Context, method string, params json.RawMessage) (string, error)) (*wire, *belt.Source, *registry.Registry) {
	t.Helper()
	w := &wire{answer: answer}
	c := client.NewClient(w, client.WithSession())
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := registry.New(nil)
	return w, belt.NewSource(c, registry.Server{Name: "crew"}, r), r
}

const oneTool = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`

// listing answers lists, and leaves calls to a function.
func listing(call func(ctx context.Context, params json.RawMessage) (string, error)) func(context.Context, string, json.RawMessage) (string, error) {
	return func(ctx context.Context, method string, params json.RawMessage) (string, error) {
		if method == "tools/list" {
			return oneTool, nil
		}
		return call(ctx, params)
	}
}

func refresh(t *testing.T, s *belt.Source) registry.Diff {
	t.Helper()
	diff, err := s.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return diff
}

const oddSchema = `{"definitions":{"id":{"type":"integer","maximum":9223372036854775807}},"properties":{"zeta":{"$ref":"#/definitions/id"},"alpha":{"const":1.10}},"type":"object","anyOf":[{"required":["zeta"]},{"required":["alpha"]}],"x-own":"<&>"}`

func TestSchemasAndAnnotationsStayAsTheyAre(t *testing.T) {
	for name, over := range map[string]func(*testing.T, *server.MCPServer, ...client.ClientOption) *client.Client{"http": overHTTP, "stdio": overStdio} {
		t.Run(name, func(t *testing.T) {
			s := server.NewMCPServer("odd", "1", server.WithPaginationLimit(1))
			for _, name := range []string{"a", "b", "c"} {
				s.AddTool(gomcp.Tool{Name: name, Title: "T", RawInputSchema: json.RawMessage(oddSchema), RawOutputSchema: json.RawMessage(`{"type":"object","required":["x"]}`)},
					func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) { return nil, nil })
			}
			r := registry.New(nil)
			refresh(t, belt.NewSource(over(t, s), registry.Server{Name: "odd"}, r))
			tools := r.Snapshot().Tools()
			if len(tools) != 3 {
				t.Fatalf("there are %d tools", len(tools))
			}
			// The server of mcp-go escapes < and >, as Go's encoder does.
			want := strings.NewReplacer("<", `\u003c`, "&", `\u0026`, ">", `\u003e`).Replace(oddSchema)
			for _, tool := range tools {
				if d := tool.Definition(); string(d.InputSchema) != want || string(d.OutputSchema) != `{"type":"object","required":["x"]}` || d.Title != "T" || d.Origin.Server != "odd" {
					t.Errorf("the tool is %+v", d)
				}
			}
		})
	}
}

func TestBadToolsDoNotStopTheOthers(t *testing.T) {
	_, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
		return `{"tools":[{"name":7},null,{"name":"","inputSchema":{"type":"object"}},{"name":"good","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}},{"name":"none","inputSchema":[]}]}`, nil
	})
	diff := refresh(t, s)
	if len(diff.Added) != 1 || len(diff.Rejected) != 4 || r.Snapshot().Tools()[0].Definition().Origin.Tool != "good" {
		t.Errorf("the difference is %+v", diff)
	}
}

func TestListsThatDoNotEnd(t *testing.T) {
	n := 0
	_, s, r := scripted(t, func(_ context.Context, _ string, params json.RawMessage) (string, error) {
		n++
		return `{"tools":[],"nextCursor":"again"}`, nil
	})
	if _, err := s.Refresh(t.Context()); err == nil || n != 2 {
		t.Errorf("after %d pages the error is %v", n, err)
	}
	n = 0
	_, s, _ = scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
		n++
		return `{"tools":[],"nextCursor":"` + strings.Repeat("x", n) + `"}`, nil
	})
	var limit *mcp.LimitError
	if _, err := s.Refresh(t.Context()); !errors.As(err, &limit) || n > 1000 {
		t.Errorf("after %d pages the error is %v", n, err)
	}
	if r.Snapshot().Version() > 1 {
		t.Error("the registry has changed")
	}
}

func TestFailedRefreshLeavesTheTools(t *testing.T) {
	down := false
	_, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
		if down {
			return "", errors.New("down")
		}
		return oneTool, nil
	})
	refresh(t, s)
	down = true
	if _, err := s.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), `"crew"`) || len(r.Snapshot().Tools()) != 1 {
		t.Errorf("the error is %v; there are %d tools", err, len(r.Snapshot().Tools()))
	}
}

func TestOutcomes(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	code := func(code int, message string) error {
		return refusalError{gomcp.JSONRPCErrorDetails{Code: code, Message: message}}
	}
	for _, c := range []struct {
		name    string
		err     error
		result  string
		outcome mcp.Outcome
		code    int64
	}{
		{"broken", errors.New("connection reset"), "", mcp.Unknown, 0},
		{"closed", transport.ErrTransportClosed, "", mcp.Unknown, 0},
		{"no session", transport.ErrSessionTerminated, "", mcp.Unknown, 0},
		{"late", context.DeadlineExceeded, "", mcp.Unknown, 0},
		{"401", &transport.AuthorizationRequiredError{}, "", mcp.NotSent, 0},
		{"oauth", transport.ErrOAuthAuthorizationRequired, "", mcp.NotSent, 0},
		{"arguments", code(gomcp.INVALID_PARAMS, "no such id"), "", mcp.Answered, -32602},
		{"own code", code(-32050, "quota"), "", mcp.Answered, 0},
		{"no content", nil, `{}`, mcp.Answered, 0},
		{"bad content", nil, `{"content":[{"type":"hologram"}]}`, mcp.Answered, 0},
		{"no JSON", nil, `{"content":`, mcp.Answered, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s, r := scripted(t, listing(func(context.Context, json.RawMessage) (string, error) { return c.result, c.err }))
			refresh(t, s)
			_, err := r.Call(t.Context(), "crew__echo", nil)
			if err == nil || mcp.OutcomeOf(err) != c.outcome {
				t.Fatalf("the outcome of %v is %v, not %v", err, mcp.OutcomeOf(err), c.outcome)
			}
			var refused *mcp.ServerError
			if errors.As(err, &refused) && refused.Err.Code != c.code {
				t.Errorf("the code is %d", refused.Err.Code)
			}
			var login interface{ LoginURL() string }
			if errors.As(err, &login) != (c.outcome == mcp.NotSent) {
				t.Errorf("whether a login is needed: %v", err)
			}
		})
	}
	_, s, r := scripted(t, listing(func(context.Context, json.RawMessage) (string, error) { t.Error("was sent"); return "", nil }))
	refresh(t, s)
	if _, err := r.Snapshot().Tools()[0].Call(ended, nil); mcp.OutcomeOf(err) != mcp.NotSent || !errors.Is(err, context.Canceled) {
		t.Errorf("before it is sent the error is %v", err)
	}
}

func TestNotInitialized(t *testing.T) {
	c := client.NewClient(&wire{})
	s := belt.NewSource(c, registry.Server{Name: "crew"}, registry.New(nil))
	if _, err := s.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "Initialize") {
		t.Errorf("the error is %v", err)
	}
}

// On revision 2026-07-28 a call may be two requests, and only the second may have been
// refused: whether something ran is not known.
func TestLoginOnModernConnectionIsNoLicenceToCallAgain(t *testing.T) {
	s := server.NewMCPServer("guarded", "1")
	s.AddTool(gomcp.NewTool("echo"), func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("done"), nil
	})
	var closed sync.Map
	handler := server.NewStreamableHTTPServer(s)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, yes := closed.Load("now"); yes {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		closed.Delete("now")
		tr, err := transport.NewStreamableHTTP(h.URL)
		if err != nil {
			t.Fatal(err)
		}
		r := registry.New(nil)
		refresh(t, belt.NewSource(connect(t, client.NewClient(tr, client.WithProtocolVersion(version))), registry.Server{Name: "crew"}, r))
		closed.Store("now", true)
		want := mcp.Unknown
		if version == "2025-11-25" {
			want = mcp.NotSent
		}
		if _, err := r.Call(t.Context(), "crew__echo", nil); mcp.OutcomeOf(err) != want {
			t.Errorf("%s: the outcome of %v is %v", version, err, mcp.OutcomeOf(err))
		}
	}
}

func TestArgumentsAndResultsKeepTheirDigits(t *testing.T) {
	var got json.RawMessage
	_, s, r := scripted(t, listing(func(_ context.Context, params json.RawMessage) (string, error) {
		got = params
		return `{"content":[],"structuredContent":{"big":12345678901234567890123,"exact":1.10}}`, nil
	}))
	refresh(t, s)
	const args = `{"n":12345678901234567890123,"e":1.10}`
	res, err := r.Call(t.Context(), "crew__echo", json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), args) {
		t.Errorf("the server got %s", got)
	}
	if raw, _ := res.StructuredContent.(json.RawMessage); string(raw) != `{"big":12345678901234567890123,"exact":1.10}` {
		t.Errorf("the result is %s", raw)
	}
}

func TestContentThatIsNotWhatItSays(t *testing.T) {
	_, s, r := scripted(t, listing(func(context.Context, json.RawMessage) (string, error) {
		return `{"content":[{"type":"image","data":"%%%","mimeType":"image/png"},{"type":"audio","data":"?","mimeType":"a/b"},
			{"type":"resource","resource":{"uri":"a:b","blob":"%%"}},{"type":"tool_use","id":"1","name":"x","input":{}},{"type":"text","text":"left"}]}`, nil
	}))
	refresh(t, s)
	res, err := r.Call(t.Context(), "crew__echo", nil)
	if err != nil || len(res.Content) != 5 {
		t.Fatalf("%+v, %v", res, err)
	}
	for i, part := range []string{"not base64", "not base64", "a:b", "tool_use", "left"} {
		if text, ok := res.Content[i].(*mcp.TextContent); !ok || !strings.Contains(text.Text, part) {
			t.Errorf("block %d is %+v", i, res.Content[i])
		}
	}
}

func TestCancelledCallTellsTheServer(t *testing.T) {
	for name, over := range map[string]func(*testing.T, *server.MCPServer, ...client.ClientOption) *client.Client{"http": overHTTP, "stdio": overStdio} {
		t.Run(name, func(t *testing.T) {
			began, told := make(chan struct{}), make(chan struct{})
			s := server.NewMCPServer("slow", "1")
			s.AddTool(gomcp.NewTool("wait"), func(ctx context.Context, _ gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
				close(began)
				<-ctx.Done()
				close(told)
				return nil, ctx.Err()
			})
			r := registry.New(nil)
			refresh(t, belt.NewSource(over(t, s), registry.Server{Name: "slow"}, r))
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			over := make(chan error, 1)
			go func() {
				_, err := r.Call(ctx, "slow__wait", nil)
				over <- err
			}()
			<-began
			cancel(cause)
			if err := <-over; mcp.OutcomeOf(err) != mcp.Unknown || !errors.Is(err, cause) {
				t.Errorf("the error is %v", err)
			}
			<-told
		})
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		list, failures := oneTool, 0
		w, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if failures > 0 {
				failures--
				return "", errors.New("down")
			}
			return list, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- s.Watch(ctx) }()
		synctest.Wait()
		if n := len(r.Snapshot().Tools()); n != 1 {
			t.Fatalf("there are %d tools", n)
		}
		mu.Lock()
		list, failures = `{"tools":[]}`, 3
		mu.Unlock()
		begin := time.Now()
		w.changed()
		w.changed()
		for snapshot := range r.Watch(t.Context()) {
			if len(snapshot.Tools()) == 0 {
				break
			}
		}
		if took := time.Since(begin); took < 3*time.Second || took > 10*time.Second {
			t.Errorf("it took %v to try again", took)
		}
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch ended with %v", err)
		}
	})
}

// A stream of the user's takes the place of ours, and ours does not fight for it.
func TestWatchLeavesTheStreamToALaterListen(t *testing.T) {
	s := server.NewMCPServer("live", "1", server.WithToolCapabilities(true))
	c := overHTTP(t, s)
	r := registry.New(nil)
	source := belt.NewSource(c, registry.Server{Name: "live"}, r)
	background(t, func(ctx context.Context) { _ = source.Watch(ctx) })
	background(t, func(ctx context.Context) {
		_ = c.Listen(ctx, gomcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
	})
	s.AddTool(gomcp.NewTool("late"), func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("done"), nil
	})
	there := make(chan struct{})
	background(t, func(ctx context.Context) {
		for snapshot := range r.Watch(ctx) {
			if len(snapshot.Tools()) == 1 {
				close(there)
				return
			}
		}
	})
	again := time.NewTicker(10 * time.Millisecond) // a stream that is not there yet hears nothing
	defer again.Stop()
	for {
		select {
		case <-there:
			return
		case <-again.C:
			s.SendNotificationToAllClients(gomcp.MethodNotificationToolsListChanged, nil)
		}
	}
}
