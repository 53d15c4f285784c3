package gateway_test

//lint:file-ignore SA1019 Roots are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// newAskingServer returns the URL of a server of the official SDK whose tool ask asks the user for their
// name, and whose tool roots asks for the roots, in the way of the revision. They answer with what they were told.
func newAskingServer(t *testing.T, modern bool) string {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}}
	type input struct {
		User string `json:"user"`
	}
	text := func(r *sdk.ElicitResult) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %v", r.Action, r.Content["name"])}}}, nil, nil
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		question := &sdk.ElicitParams{Message: "Who is " + in.User + "?", RequestedSchema: schema}
		if !modern {
			res, err := r.Session.Elicit(ctx, question)
			if err != nil {
				return nil, nil, err
			}
			return text(res)
		}
		if res, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
			return text(res)
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": question}}, nil, nil
	})
	listed := func(r *sdk.ListRootsResult) (*sdk.CallToolResult, any, error) {
		var uris []string
		for _, root := range r.Roots {
			uris = append(uris, root.URI)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(uris, " ")}}}, nil, nil
	}
	sdk.AddTool(server, &sdk.Tool{Name: "roots"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		if !modern {
			res, err := r.Session.ListRoots(ctx, nil)
			if err != nil {
				return nil, nil, err
			}
			return listed(res)
		}
		if res, ok := r.Params.InputResponses["roots"].(*sdk.ListRootsResult); ok {
			return listed(res)
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"roots": &sdk.ListRootsParams{}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: modern})
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

// newGateway serves a gateway to the given config entries over HTTP. The field X-User names the user.
func newGateway(t *testing.T, o *gateway.Options, entries ...string) (url string, g *gateway.Gateway) {
	t.Helper()
	if o == nil {
		o = &gateway.Options{}
	}
	o.Authenticate = userOfField
	ho := &host.Options{StateDir: host.NoState}
	gateway.Prepare(ho)
	h := hosttest.Open(t, hosttest.Write(t, entries...), hosttest.Patient(ho))
	return serveGateway(t, h, o)
}

// serveGateway serves a gateway to a host over HTTP.
func serveGateway(t *testing.T, h *host.Host, o *gateway.Options) (url string, g *gateway.Gateway) {
	t.Helper()
	if o == nil {
		o = &gateway.Options{}
	}
	o.Anonymous = o.Authenticate == nil
	g = assert.Value(gateway.New(h, o))(t)
	web := httptest.NewServer(g)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL, g
}

// newUser returns a client of a user.
func newUser(t *testing.T, url, user, revision string, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	if o == nil {
		o = &mcp.ClientOptions{}
	}
	o.ProtocolVersion = revision
	return newHeaderClient(t, url, http.Header{"X-User": {user}}, o)
}

// newHeaderClient returns a client whose requests have the fields of a header.
func newHeaderClient(t *testing.T, url string, header http.Header, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c := mcp.NewClient("client", &transport.HTTP{URL: url, Header: header}, o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Elicitation passes between clients and servers of all revisions, each to the user whose call
// caused it, whatever the user does.
func TestElicitationCells(t *testing.T) {
	const users, calls = 50, 2
	for _, serverModern := range []bool{false, true} {
		entry := fmt.Sprintf(`{"type":"http","url":%q}`, newAskingServer(t, serverModern))
		url, _ := newGateway(t, nil, "asking", entry)
		for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
			for _, action := range []string{"accept", "decline", "cancel"} {
				t.Run(fmt.Sprintf("modern server %t/client %s/%s", serverModern, revision, action), func(t *testing.T) {
					ctx := hosttest.Watchdog(t)
					var all sync.WaitGroup
					for i := range users {
						user := fmt.Sprintf("user%d.", i)
						c := newUser(t, url+"/s/asking/mcp", user, revision, &mcp.ClientOptions{
							Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
								if !strings.Contains(r.Params.Message, user) {
									t.Errorf("%s was asked %q", user, r.Params.Message)
								}
								res := &mcp.ElicitResult{Action: action}
								if action == "accept" {
									res.Content = map[string]any{"name": user}
								}
								return res, nil
							},
						})
						want := action + " <nil>"
						if action == "accept" {
							want = action + " " + user
						}
						for range calls {
							all.Go(func() {
								res, err := c.CallTool(ctx, "ask", json.RawMessage(fmt.Sprintf(`{"user":%q}`, user)), nil)
								if err != nil {
									t.Error(err)
								} else if got := res.Text(); got != want {
									t.Errorf("got %q, want %q", got, want)
								}
							})
						}
					}
					all.Wait()
				})
			}
			t.Run(fmt.Sprintf("modern server %t/client %s/client gone", serverModern, revision), func(t *testing.T) {
				ctx := hosttest.Watchdog(t)
				var all sync.WaitGroup
				for i := range users {
					user := fmt.Sprintf("user%d.", i)
					asked := make(chan struct{}, 1)
					c := newUser(t, url+"/s/asking/mcp", user, revision, &mcp.ClientOptions{
						Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							asked <- struct{}{}
							<-ctx.Done()
							return nil, ctx.Err()
						},
					})
					all.Go(func() {
						_, _ = c.CallTool(ctx, "ask", json.RawMessage(fmt.Sprintf(`{"user":%q}`, user)), nil)
					})
					all.Go(func() {
						<-asked
						_ = c.Close()
					})
				}
				all.Wait()
				// The server is there for others.
				c := newUser(t, url+"/s/asking/mcp", "other", revision, &mcp.ClientOptions{
					Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "decline"}, nil
					},
				})
				if _, err := c.CallTool(ctx, "ask", json.RawMessage(`{"user":"other"}`), nil); err != nil {
					t.Error(err)
				}
			})
			t.Run(fmt.Sprintf("modern server %t/client %s/cannot", serverModern, revision), func(t *testing.T) {
				ctx := hosttest.Watchdog(t)
				for _, tasks := range []bool{false, true} {
					c := newUser(t, url+"/s/asking/mcp", "plain", revision, &mcp.ClientOptions{Tasks: tasks})
					res, err := c.CallTool(ctx, "ask", json.RawMessage(`{"user":"plain"}`), nil)
					var refused *mcp.ServerError
					if err == nil && !res.IsError || err != nil && !errors.As(err, &refused) {
						t.Errorf("tasks %t: got %v, %v, want a refusal", tasks, res, err)
					}
					if modern := serverModern && revision == mcp.Revision20260728; modern && (refused == nil || refused.Err.Code != -32021) {
						t.Errorf("tasks %t: got %v, %v, want what the client has to be able to do", tasks, res, err)
					}
				}
			})
		}
		t.Run(fmt.Sprintf("modern server %t/no stream", serverModern), func(t *testing.T) {
			if serverModern {
				t.Skip("a server of revision 2026-07-28 is asked again by a client of an older one")
			}
			session := post(t, url+"/s/asking/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`, nil)
			body := ""
			post(t, url+"/s/asking/mcp", session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"user":"x"}}}`, &body)
			assert.Contains(t, body, `"isError":true`)
		})
	}
}

// A server that asks for roots in the course of a call gets those of the client that made it, whatever the revisions;
// those of the host if the client has none.
func TestRootsCells(t *testing.T) {
	const users, calls = 10, 3
	for _, serverModern := range []bool{false, true} {
		ho := &host.Options{StateDir: host.NoState}
		ho.Client.Roots = []*mcp.Root{{URI: "file:///host"}}
		gateway.Prepare(ho)
		entry := fmt.Sprintf(`{"type":"http","url":%q}`, newAskingServer(t, serverModern))
		h := hosttest.Open(t, hosttest.Write(t, "asking", entry), hosttest.Patient(ho))
		url, _ := serveGateway(t, h, &gateway.Options{Authenticate: userOfField})
		for _, revision := range both {
			t.Run(fmt.Sprintf("modern server %t/client %s", serverModern, revision), func(t *testing.T) {
				ctx := hosttest.Watchdog(t)
				var all sync.WaitGroup
				for i := range users {
					want, o := "file:///host", &mcp.ClientOptions{}
					switch i % 3 {
					case 0:
						want, o.Roots = "", []*mcp.Root{}
					case 1:
						want = fmt.Sprintf("file:///user/%d file:///common", i)
						o.Roots = []*mcp.Root{{URI: fmt.Sprintf("file:///user/%d", i)}, {URI: "file:///common"}}
					}
					c := newUser(t, url+"/s/asking/mcp", fmt.Sprintf("user%d", i), revision, o)
					for range calls {
						all.Go(func() {
							res, err := c.CallTool(ctx, "roots", nil, nil)
							switch {
							case want == "file:///host" && serverModern && revision == mcp.Revision20260728:
								if err == nil || !strings.Contains(err.Error(), "does not declare") {
									t.Errorf("got %v, %v, want that the client does not declare roots", res, err)
								}
							case err != nil:
								t.Error(err)
							case res.Text() != want:
								t.Errorf("got %q, want %q", res.Text(), want)
							}
						})
					}
				}
				all.Wait()
			})
		}
	}
}

// A client hears when its own user is done with a page, though servers have one id for the pages of all.
func TestElicitationComplete(t *testing.T) {
	var entries []string
	finish := map[string]chan struct{}{"one": make(chan struct{}), "two": make(chan struct{})}
	for name, finished := range finish {
		server := newSDKServer() // of revision 2025-11-25, which alone has that notification
		addTool(server, "visit", func(ctx context.Context, r *sdk.CallToolRequest, _ anyInput) string {
			res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "url", Message: "Pay", URL: "https://a.example/", ElicitationID: "same"})
			if err != nil {
				return err.Error()
			}
			go func() {
				<-finished
				_ = r.Session.NotifyElicitationComplete(context.Background(), &sdk.ElicitationCompleteParams{ElicitationID: "same"})
			}()
			return res.Action
		})
		web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
		t.Cleanup(func() {
			web.CloseClientConnections()
			web.Close()
		})
		entries = append(entries, name, fmt.Sprintf(`{"type":"http","url":%q}`, web.URL))
	}
	url, _ := newGateway(t, nil, entries...)
	ctx := hosttest.Watchdog(t)
	done := map[string]<-chan struct{}{}
	for _, name := range []string{"one", "two", "declined"} {
		action, tool := "accept", name+"__visit"
		if name == "declined" {
			action, tool = "decline", "one__visit"
		}
		c := newUser(t, url+"/mcp", "", mcp.Revision20251125, &mcp.ClientOptions{
			ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				done[name] = r.Completed
				return &mcp.ElicitResult{Action: action}, nil
			},
		})
		res := assert.Value(c.CallTool(ctx, tool, nil, nil))(t)
		assert.Equal(t, res.Text(), action, "%s", name)
	}
	isDone := func(name string) bool {
		select {
		case <-done[name]:
			return true
		default:
			return false
		}
	}
	for _, step := range []struct {
		server string
		others []string
	}{{"one", []string{"two", "declined"}}, {"two", []string{"declined"}}} {
		close(finish[step.server])
		hosttest.Eventually(t, step.server+" is done", func() bool { return isDone(step.server) })
		for _, other := range step.others {
			if isDone(other) {
				t.Errorf("got that %s is done with %s, want that it is not", other, step.server)
			}
		}
	}
}

// post posts a message as a client that takes no streams, and returns the session.
func post(t *testing.T, url, session, message string, body *string) string {
	t.Helper()
	r := assert.Value(http.NewRequestWithContext(hosttest.Watchdog(t), http.MethodPost, url, strings.NewReader(message)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp := assert.Value(client.Do(r))(t)
	defer resp.Body.Close()
	all := assert.Value(io.ReadAll(resp.Body))(t)
	if body != nil {
		*body = string(all)
	}
	return resp.Header.Get("Mcp-Session-Id")
}

// A gateway that is closed lets go of calls that wait for input.
func TestCloseWithQuestionsOpen(t *testing.T) {
	entry := fmt.Sprintf(`{"type":"http","url":%q}`, newAskingServer(t, false))
	url, g := newGateway(t, nil, "asking", entry)
	var asked atomic.Int32
	var all sync.WaitGroup
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		c := newUser(t, url+"/mcp", "user", revision, &mcp.ClientOptions{
			Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked.Add(1)
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, _ = c.CallTool(ctx, "asking__ask", json.RawMessage(`{"user":"user"}`), nil)
		})
		t.Cleanup(func() { _ = c.Close(); all.Wait() })
	}
	hosttest.Eventually(t, "both are asked", func() bool { return asked.Load() == 2 })
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
