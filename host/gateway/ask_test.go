package gateway_test

//lint:file-ignore SA1019 Roots are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// newAskingServer returns the entry of a server of the official SDK whose tool ask asks the user for their
// name, and whose tool roots asks for the roots, in the way of the revision. They answer with what they were told.
func newAskingServer(t *testing.T, modern bool) (entry string) {
	server := newSDKServer()
	text := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	named := func(r *sdk.ElicitResult) *sdk.CallToolResult {
		return text(fmt.Sprint(r.Action, " ", r.Content["name"]))
	}
	listed := func(r *sdk.ListRootsResult) *sdk.CallToolResult {
		var uris []string
		for _, root := range r.Roots {
			uris = append(uris, root.URI)
		}
		return text(strings.Join(uris, " "))
	}
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) (*sdk.CallToolResult, any, error) {
		question := nameQuestion("Who is " + in.Text + "?")
		if !modern {
			res, err := r.Session.Elicit(ctx, question)
			if err != nil {
				return nil, nil, err
			}
			return named(res), nil, nil
		}
		if res, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
			return named(res), nil, nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": question}}, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "roots"}, func(ctx context.Context, r *sdk.CallToolRequest, _ anyInput) (*sdk.CallToolResult, any, error) {
		if !modern {
			res, err := r.Session.ListRoots(ctx, nil)
			if err != nil {
				return nil, nil, err
			}
			return listed(res), nil, nil
		}
		if res, ok := r.Params.InputResponses["roots"].(*sdk.ListRootsResult); ok {
			return listed(res), nil, nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"roots": &sdk.ListRootsParams{}}}, nil, nil
	})
	return serveSDK(t, server, modern)
}

// answerAs answers questions that name the user by an action, and their name if they accept.
func answerAs(t *testing.T, user, action string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		assert.Contains(t, r.Params.Message, user, "the question")
		res := &mcp.ElicitResult{Action: action}
		if action == "accept" {
			res.Content = map[string]any{"name": user}
		}
		return res, nil
	}
}

// hangUntilGone answers questions when the client is gone, and sends on asked before.
func hangUntilGone(asked chan<- struct{}) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// wantAsk has the asking server ask a user, and compares what it says.
func wantAsk(t *testing.T, c *mcp.Client, user, want string) {
	t.Helper()
	res, err := c.CallTool(hosttest.Watchdog(t), "ask", json.RawMessage(fmt.Sprintf(`{"text":%q}`, user)), nil)
	if err != nil {
		t.Errorf("%s: got %v, want %q", user, err, want)
		return
	}
	assert.Equal(t, res.Text(), want, "%s", user)
}

// Elicitation passes between clients and servers of all revisions, each to the user whose call
// caused it, whatever the user does.
func TestElicitationCells(t *testing.T) {
	//report: Gateway | Kuadrant/mcp-gateway#1317, Kuadrant/mcp-gateway#115 | a server of revision 2026-07-28 asks by a result, one of an older revision by a request, and the client speaks the other | the client is asked in the way of its own revision, and its answer reaches the server in the way of that
	//report: Gateway | mastra-ai/mastra#15233 | what a client says it can be asked is lost on the way | a client is asked for what it declared and for nothing else; else the server or the client is told what is missing
	users := assert.Cases(3, 50)
	for _, serverModern := range []bool{false, true} {
		s := openEntries(t, nil, "asking", newAskingServer(t, serverModern))
		newUser := func(t *testing.T, user, revision string, elicit func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.Client {
			return s.newUser(t, "/s/asking/mcp", user, revision, &mcp.ClientOptions{Elicit: elicit})
		}
		for _, revision := range both {
			name := fmt.Sprintf("modern server %t/client %s", serverModern, revision)
			for _, action := range []string{"accept", "decline", "cancel"} {
				t.Run(name+"/"+action, func(t *testing.T) {
					var all sync.WaitGroup
					for i := range users {
						user, want := fmt.Sprintf("user%d.", i), action+" <nil>"
						if action == "accept" {
							want = action + " " + user
						}
						c := newUser(t, user, revision, answerAs(t, user, action))
						for range 2 {
							all.Go(func() { wantAsk(t, c, user, want) })
						}
					}
					all.Wait()
				})
			}
			t.Run(name+"/client gone", func(t *testing.T) {
				ctx := hosttest.Watchdog(t)
				var all sync.WaitGroup
				for i := range users {
					asked := make(chan struct{}, 1)
					c := newUser(t, fmt.Sprintf("user%d.", i), revision, hangUntilGone(asked))
					all.Go(func() { _, _ = c.CallTool(ctx, "ask", json.RawMessage(`{"text":"x"}`), nil) })
					all.Go(func() {
						<-asked
						_ = c.Close()
					})
				}
				all.Wait()
				wantAsk(t, newUser(t, "other", revision, answerAs(t, "other", "decline")), "other", "decline <nil>")
			})
			t.Run(name+"/cannot", func(t *testing.T) {
				for _, tasks := range []bool{false, true} {
					c := s.newUser(t, "/s/asking/mcp", "plain", revision, &mcp.ClientOptions{Tasks: tasks})
					res, err := c.CallTool(hosttest.Watchdog(t), "ask", json.RawMessage(`{"text":"plain"}`), nil)
					var refused *mcp.ServerError
					switch {
					case serverModern && revision == mcp.Revision20260728: // it says what the client has to be able to do
						assert.Equal(t, assert.As[*mcp.ServerError](t, err).Err.Code, -32021, "tasks %t", tasks)
					case !errors.As(err, &refused):
						assert.OK(t, err)
						assert.True(t, res.IsError, "tasks %t: an error", tasks)
					}
				}
			})
		}
		if !serverModern { // a server of revision 2026-07-28 is asked again by a client of an older one
			q := s.connect(t, &client{path: "/s/asking/mcp"}).query("tools/call", toolParams("ask", `{"text":"x"}`))
			q.header = acceptJSON
			assert.Equal(t, s.do(t, q).message(t).at("isError"), "true", "an error for a client without a stream")
		}
	}
}

// rootsAt returns a handler for roots/list with these URIs.
func rootsAt(uris ...string) func(context.Context) ([]*mcp.Root, error) {
	return func(context.Context) (roots []*mcp.Root, err error) {
		for _, uri := range uris {
			roots = append(roots, &mcp.Root{URI: uri})
		}
		return roots, nil
	}
}

// A server that asks for roots in the course of a call gets those of the client that made it, whatever the revisions;
// those of the host if the client has none.
func TestRootsCells(t *testing.T) {
	for _, serverModern := range []bool{false, true} {
		ho := &host.Options{StateDir: host.NoState, OpenWait: -1}
		ho.Client.ListRoots = rootsAt("file:///host")
		s := new(site).open(t, ho, nil, "asking", newAskingServer(t, serverModern))
		for _, revision := range both {
			var all sync.WaitGroup
			for i := range assert.Cases(3, 10) {
				want, o := "file:///host", &mcp.ClientOptions{}
				switch i % 3 {
				case 0:
					want, o.ListRoots = "", rootsAt()
				case 1:
					want = fmt.Sprintf("file:///user/%d file:///common", i)
					o.ListRoots = rootsAt(fmt.Sprintf("file:///user/%d", i), "file:///common")
				case 2:
					if serverModern && revision == mcp.Revision20260728 {
						want = "does not declare" // which such a client is told
					}
				}
				c := s.newUser(t, "/s/asking/mcp", fmt.Sprintf("user%d", i), revision, o)
				for range 3 {
					all.Go(func() {
						res, err := c.CallTool(hosttest.Watchdog(t), "roots", nil, nil)
						if err != nil {
							assert.Contains(t, err.Error(), want, "modern server %t, client %s: the error", serverModern, revision)
							return
						}
						assert.Equal(t, res.Text(), want, "modern server %t, client %s", serverModern, revision)
					})
				}
			}
			all.Wait()
		}
	}
}

// A gateway that is closed lets go of calls that wait for input.
func TestCloseWithQuestionsOpen(t *testing.T) {
	s := openEntries(t, nil, "asking", newAskingServer(t, false))
	asked := make(chan struct{}, 2)
	var all sync.WaitGroup
	defer all.Wait()
	for _, revision := range both {
		c := s.newUser(t, "/mcp", "user", revision, &mcp.ClientOptions{Elicit: hangUntilGone(asked)})
		all.Go(func() { _, _ = c.CallTool(t.Context(), "asking__ask", json.RawMessage(`{"text":"user"}`), nil) })
		defer c.Close()
	}
	<-asked
	<-asked
	assert.Equal(t, s.gateway.Close(), nil)
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
		entries = append(entries, name, serveSDK(t, server, false))
	}
	s := openEntries(t, nil, entries...)
	done := map[string]<-chan struct{}{}
	for name, visit := range map[string]struct{ action, tool string }{
		"one": {"accept", "one__visit"}, "two": {"accept", "two__visit"}, "declined": {"decline", "one__visit"},
	} {
		c := s.newUser(t, "/mcp", "", mcp.Revision20251125, &mcp.ClientOptions{
			ElicitURL: func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				done[name] = r.Completed
				return &mcp.ElicitResult{Action: visit.action}, nil
			},
		})
		assert.Equal(t, assert.Value(c.CallTool(hosttest.Watchdog(t), visit.tool, nil, nil))(t).Text(), visit.action, "%s", name)
	}
	for _, step := range []struct{ server, done string }{{"one", "true false false"}, {"two", "true true false"}} {
		close(finish[step.server])
		<-done[step.server]
		assert.Equal(t, fmt.Sprint(isClosed(done["one"]), isClosed(done["two"]), isClosed(done["declined"])), step.done, "done after %s", step.server)
	}
}
