package mcp_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A handler asks the user before the model, and may say no. Package ask has
// handlers that do.
func ExampleSampleRequest() {
	agreed := func(r *mcp.SampleRequest) bool {
		return r.Server == "notes" && len(r.Params.Tools) == 0
	}
	opts := &mcp.ClientOptions{
		MaxSampleTokens: 1_000,
		Sample: func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
			if !agreed(r) {
				return nil, mcp.ErrRejected
			}
			// Here a model goes on with r.Params, with no more than MaxTokens.
			return &mcp.SampleResult{Model: "tiny", Content: []mcp.Content{&mcp.TextContent{Text: "Hello"}}}, nil
		},
	}
	_, err := opts.Sample(context.Background(), &mcp.SampleRequest{Server: "stranger"})
	fmt.Println(err)
	// Output:
	// the user rejected the request
}
