package transporttest

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments are those of all tools.
type arguments struct {
	Text string `json:"text,omitempty"`
	Size int    `json:"size,omitempty"`
	N    int    `json:"n,omitempty"`
}

// NewServer returns the server that [TestTransport] talks to. Its tools are
// echo (returns its text), big (returns size bytes of text), count (reports n
// times progress, then returns), wait (returns when the call is cancelled) and
// waiting (returns the number of calls of wait that are running).
func NewServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "transporttest", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in arguments) (*sdk.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "big"}, func(_ context.Context, _ *sdk.CallToolRequest, in arguments) (*sdk.CallToolResult, any, error) {
		return text(strings.Repeat("x", in.Size)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "count"}, func(ctx context.Context, req *sdk.CallToolRequest, in arguments) (*sdk.CallToolResult, any, error) {
		for i := range in.N {
			note := &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)}
			if err := req.Session.NotifyProgress(ctx, note); err != nil {
				return nil, nil, err
			}
		}
		return text("counted"), nil, nil
	})
	var waiting atomic.Int64
	sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		waiting.Add(1)
		defer waiting.Add(-1)
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "waiting"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text(strconv.FormatInt(waiting.Load(), 10)), nil, nil
	})
	return s
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
