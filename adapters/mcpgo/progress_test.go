package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Why a call was given up is told also if the client was as swift to say that it was.
func TestCauseOfAnEndedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		w, s, r := scripted(t, listing(func(ctx context.Context, params json.RawMessage) (string, error) {
			w.progress(params)
			<-ctx.Done()
			return "", errors.New("the pipe is broken")
		}))
		refresh(t, s)
		enough := errors.New("enough")
		for range 20 { // the two are told at once
			ctx, cancel := context.WithCancelCause(t.Context())
			ctx = registry.WithProgress(ctx, func(*mcp.ProgressParams) {
				cancel(enough)
				synctest.Wait()
			})
			if _, err := r.Snapshot().Tools()[0].Call(ctx, nil); !errors.Is(err, enough) || mcp.OutcomeOf(err) != mcp.Unknown {
				t.Errorf("the error is %v", err)
			}
			cancel(nil)
		}
	})
}

// An inbox keeps what a client is told.
type inbox chan gomcp.JSONRPCNotification

func (inbox) Initialize()                                             {}
func (inbox) Initialized() bool                                       { return true }
func (inbox) SessionID() string                                       { return "s" }
func (s inbox) NotificationChannel() chan<- gomcp.JSONRPCNotification { return s }

// A client that has not asked for progress, though for something else, is told of none.
func TestProgressThatNobodyWants(t *testing.T) {
	busy := named("busy")
	busy.run = func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		registry.ReportProgress(ctx, &mcp.ProgressParams{Progress: 1})
		return text("done"), nil
	}
	s := server.NewMCPServer("belt", "1")
	belt.NewExport(s, with(t, nil, busy), nil).Refresh()
	for meta, want := range map[string]int{`{"traceparent":"x"}`: 0, `{"progressToken":"x"}`: 1} {
		told := make(inbox, 9)
		ctx := s.WithContext(t.Context(), told)
		res := s.HandleMessage(ctx, json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"busy","arguments":{},"_meta":`+meta+`}}`))
		if _, ok := res.(gomcp.JSONRPCResponse); !ok || len(told) != want {
			t.Errorf("%s: told %d times, answered %+v", meta, len(told), res)
		}
	}
}
