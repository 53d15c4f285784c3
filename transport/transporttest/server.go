package transporttest

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewServer returns the server that [TestTransport] talks to. Its tools are
// echo (returns its text), big (returns size bytes of text), count (reports n
// times progress, then returns), wait (returns when the call is cancelled) and
// waiting (returns the number of calls of wait that are running).
func NewServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "transporttest", Version: "1"}, nil)
	type echo struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echo) (*sdk.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	type big struct {
		Size int `json:"size"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "big"}, func(_ context.Context, _ *sdk.CallToolRequest, in big) (*sdk.CallToolResult, any, error) {
		return text(strings.Repeat("x", in.Size)), nil, nil
	})
	type count struct {
		N int `json:"n"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "count"}, func(ctx context.Context, req *sdk.CallToolRequest, in count) (*sdk.CallToolResult, any, error) {
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
