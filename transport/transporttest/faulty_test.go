package transporttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// A faultyWay is a transport that can be made faulty.
type faultyWay struct {
	name   string
	bodies bool // answers are JSON bodies
	web    bool
	recipe func(*testing.T) mcp.Transport
}

func faultyWays() []faultyWay {
	type handler func(func(*http.Request) *sdk.Server) http.Handler
	serve := func(t *testing.T, h handler) string {
		server := transporttest.NewServer()
		s := httptest.NewServer(h(func(*http.Request) *sdk.Server { return server }))
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
			for session := range server.Sessions() { // a busy machine may not have ended it in time
				_ = session.Close()
			}
		})
		return s.URL
	}
	streamable := func(opts *sdk.StreamableHTTPOptions) handler {
		return func(server func(*http.Request) *sdk.Server) http.Handler {
			return sdk.NewStreamableHTTPHandler(server, opts)
		}
	}
	old := func(server func(*http.Request) *sdk.Server) http.Handler { return sdk.NewSSEHandler(server, nil) }
	bodies := &sdk.StreamableHTTPOptions{JSONResponse: true}
	return []faultyWay{
		{"Command", false, false, func(*testing.T) mcp.Transport {
			c := transporttest.Child("sdk")
			c.CloseTimeout = 100 * time.Millisecond // one that holds a request back does not end by itself
			return c
		}},
		{"Pipe", false, false, func(t *testing.T) mcp.Transport {
			var serving sync.WaitGroup
			t.Cleanup(serving.Wait) // Close does not wait for a server that a busy machine has not ended in time
			return &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
				serving.Add(1)
				defer serving.Done()
				return transporttest.NewServer().Run(ctx, t)
			}}
		}},
		{"HTTP, bodies", true, true, func(t *testing.T) mcp.Transport {
			return &transport.HTTP{URL: serve(t, streamable(bodies))}
		}},
		{"HTTP, events", false, true, func(t *testing.T) mcp.Transport {
			return &transport.HTTP{URL: serve(t, streamable(nil))}
		}},
		{"SSE", false, true, func(t *testing.T) mcp.Transport {
			return &transport.SSE{URL: serve(t, old)}
		}},
		{"Auto", true, true, func(t *testing.T) mcp.Transport {
			return &transport.Auto{URL: serve(t, streamable(bodies))}
		}},
	}
}

// echo calls the tool that returns its text.
func echo(ctx context.Context, c *mcp.Client, text string) (string, error) {
	args, _ := json.Marshal(map[string]string{"text": text})
	res, err := c.CallTool(ctx, "echo", args, nil)
	if err != nil || len(res.Content) != 1 {
		return "", err
	}
	block, _ := res.Content[0].(*mcp.TextContent)
	return block.Text, nil
}

// faultyClient returns a client whose transport has faults.
func faultyClient(t *testing.T, way faultyWay, fault transporttest.Fault) *mcp.Client {
	t.Helper()
	c := mcp.NewClient("faulty", transporttest.Faulty(t, way.recipe(t), fault), &mcp.ClientOptions{ConnectTimeout: tooLong})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Each fault happens to the second call and to no other, over every transport,
// and the client makes of it what the fault's comment says.
func TestFaulty(t *testing.T) {
	t.Parallel()
	type expected struct {
		fault   transporttest.Fault
		works   bool        // the call succeeds all the same
		outcome mcp.Outcome // else
	}
	for _, way := range faultyWays() {
		tests := map[string]expected{
			"delay":     {fault: transporttest.Fault{Kind: transporttest.FaultDelay, Delay: time.Millisecond}, works: true},
			"refuse":    {fault: transporttest.Fault{Kind: transporttest.FaultRefuse}, outcome: mcp.Unknown},
			"drop":      {fault: transporttest.Fault{Kind: transporttest.FaultDrop}, outcome: mcp.Unknown},
			"cut":       {fault: transporttest.Fault{Kind: transporttest.FaultCut, Bytes: 20}, outcome: mcp.Unknown},
			"cut late":  {fault: transporttest.Fault{Kind: transporttest.FaultCut, Bytes: 1 << 20}, outcome: mcp.Unknown},
			"duplicate": {fault: transporttest.Fault{Kind: transporttest.FaultDuplicate}, works: !way.bodies, outcome: mcp.Answered},
			"garbage":   {fault: transporttest.Fault{Kind: transporttest.FaultGarbage}, works: !way.bodies, outcome: mcp.Answered},
			"slice":     {fault: transporttest.Fault{Kind: transporttest.FaultSlice}, works: true},
		}
		if way.web {
			tests["429"] = expected{fault: transporttest.Fault{Kind: transporttest.FaultRefuse, Status: http.StatusTooManyRequests}, outcome: mcp.NotSent}
		}
		for name, want := range tests {
			t.Run(way.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				want.fault.Method, want.fault.Nth = "tools/call", 2
				c := faultyClient(t, way, want.fault)
				ctx, stop := context.WithTimeout(t.Context(), tooLong)
				defer stop()
				for i, works := range []bool{true, want.works, true} {
					nonce := fmt.Sprint("nonce ", i)
					got, err := echo(ctx, c, nonce)
					if works {
						assert.OK(t, err, "call %d", i)
						assert.Equal(t, got, nonce, "answer to call %d", i)
						continue
					}
					assert.Fails(t, err, "call %d", i)
					assert.Equal(t, mcp.OutcomeOf(err), want.outcome, "call %d: outcome of %v", i, err)
				}
			})
		}
	}
}

// A request that is held back ends with its context.
func TestFaultyDelay(t *testing.T) {
	t.Parallel()
	for _, way := range faultyWays() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			c := faultyClient(t, way, transporttest.Fault{Kind: transporttest.FaultDelay, Method: "tools/call", Delay: time.Hour})
			assert.OK(t, c.Ready(t.Context()))
			ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer stop()
			_, err := echo(ctx, c, "late")
			assert.Is(t, err, context.DeadlineExceeded)
		})
	}
}

// A failing test keeps what it failed with, and ends its goroutine only.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// What cannot have faults fails the test that asks for them.
func TestFaultyRefusesOthers(t *testing.T) {
	for name, ask := range map[string]func(testing.TB){
		"transport": func(t testing.TB) { transporttest.Faulty(t, &sdk.StdioTransport{}) },
		"kind":      func(t testing.TB) { transporttest.Faulty(t, &transport.HTTP{}, transporttest.Fault{}) },
	} {
		r := &failing{TB: t}
		done := make(chan struct{})
		go func() { defer close(done); ask(r) }()
		<-done
		assert.Contains(t, r.text, "transporttest.Faulty", "%s: failed with", name)
	}
}
