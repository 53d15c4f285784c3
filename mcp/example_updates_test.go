package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// counter is a server with a resource that a tool changes.
func counter() mcp.Transport {
	s := sdk.NewServer(&sdk.Implementation{Name: "counting", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	count := 0
	s.AddResource(&sdk.Resource{URI: "count://now", Name: "count"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: fmt.Sprint(count)}}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			count++
			return &sdk.CallToolResult{}, s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "count://now"})
		})
	return &transport.Pipe{Serve: s.Run}
}

func ExampleClient_ResourceUpdates() {
	ctx := context.Background()
	c := mcp.NewClient("counting", counter(), nil)
	defer c.Close()
	for uri, err := range c.ResourceUpdates(ctx, "count://now") {
		if err != nil {
			fmt.Println(err) // the last yield
			return
		}
		res, err := c.ReadResource(ctx, uri, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Contents[0].Text)
		if res.Contents[0].Text == "2" {
			break
		}
		if _, err := c.CallTool(ctx, "count", nil, nil); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// 0
	// 1
	// 2
}

// A method of an extension is called by its name.
func ExampleClient_Request() {
	c := mcp.NewClient("library", library(), &mcp.ClientOptions{
		Extensions: map[string]map[string]any{"com.example/lending": {"currency": "EUR"}},
	})
	defer c.Close()
	_, err := c.Request(context.Background(), "com.example/lend", json.RawMessage(`{"book":"ada"}`), nil)
	fmt.Println(mcp.OutcomeOf(err)) // this server does not know it
	// Output:
	// answered
}

func ExampleClient_OnChange() {
	c := mcp.NewClient("counting", counter(), nil)
	changed := make(chan struct{}, 1)
	c.OnChange(func() {
		select {
		case changed <- struct{}{}:
		default: // it is known already that something has changed
		}
	})
	c.Connect()
	for c.State().Phase != mcp.Ready {
		<-changed
	}
	fmt.Println(c.State().Server.Name)
	_ = c.Close()
	// Output: counting
}
