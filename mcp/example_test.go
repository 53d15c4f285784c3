// Examples of package mcp: clients, calls and results.

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

type sumIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

// adder is a server in this process. A &transport.Command or &transport.HTTP
// takes its place for one that is elsewhere.
func adder() mcp.Transport {
	server := sdk.NewServer(&sdk.Implementation{Name: "adder", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *sdk.CallToolRequest, in sumIn) (*sdk.CallToolResult, any, error) {
			if in.A < 0 {
				return nil, nil, errors.New("too negative")
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(in.A + in.B)}}}, nil, nil
		})
	return &transport.Pipe{Serve: server.Run}
}

func ExampleNewClient() {
	ctx := context.Background()
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	fmt.Println(c.State().Phase)
	if err := c.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	s := c.State()
	fmt.Println(s.Phase, s.Server.Name, s.Server.Version)
	// Output:
	// idle
	// ready adder 1
}

func ExampleProtocolVersionError() {
	c := mcp.NewClient("adder", adder(), &mcp.ClientOptions{ProtocolVersion: "2024-11-04"}) // no such revision
	defer c.Close()

	err := c.Ready(context.Background())
	var other *mcp.ProtocolVersionError
	if errors.As(err, &other) {
		fmt.Println(other)
	}
	// Output:
	// protocol revision 2024-11-04 is not spoken: this client does not know it
}

func ExampleClient_CallTool() {
	ctx := context.Background()
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	for _, args := range []string{`{"a":1,"b":2}`, `{"a":-1,"b":2}`} {
		res, err := c.CallTool(ctx, "add", json.RawMessage(args), nil)
		if err != nil {
			fmt.Println(err) // the call failed; see OutcomeOf
			return
		}
		// A failure of the tool itself is a result, for the model to read.
		fmt.Println(res.IsError, res.Text())
	}
	// Output:
	// false 3
	// true too negative
}

func ExampleClient_Tools() {
	ctx := context.Background()
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	tools, err := c.Tools(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools {
		fmt.Println(tool.Name, tool.Description, json.Valid(tool.InputSchema))
	}
	// Output:
	// add Adds two numbers. true
}

func ExampleClient_Watch() {
	ctx := context.Background()
	c := mcp.NewClient("adder", adder(), nil)

	for s := range c.Watch(ctx) {
		switch s.Phase {
		case mcp.Idle:
			fmt.Println("idle")
			go func() { _ = c.Ready(ctx) }()
		case mcp.Ready:
			fmt.Println("ready")
			go func() { _ = c.Close() }()
		case mcp.Waiting:
			fmt.Println("down until", s.RetryAt, s.Err)
		case mcp.Closed:
			fmt.Println("closed")
		}
	}
	// Output:
	// idle
	// ready
	// closed
}

func ExampleCallToolResult_Text() {
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	args, err := json.Marshal(sumIn{A: 1, B: 2}) // arguments that are a Go value
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := c.CallTool(context.Background(), "add", args, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text())
	// Output:
	// 3
}

func ExampleOutcomeOf() {
	ctx := context.Background()
	down := &transport.Pipe{Serve: func(context.Context, mcp.Transport) error { return errors.New("out of order") }}
	c := mcp.NewClient("adder", down, nil)
	defer c.Close()

	_, err := c.CallTool(ctx, "add", json.RawMessage(`{"a":1,"b":2}`), nil)
	switch mcp.OutcomeOf(err) {
	case mcp.NotSent:
		fmt.Println("the tool did not run: try again")
	case mcp.Unknown:
		fmt.Println("the tool may have run: find out before trying again")
	case mcp.Answered:
		fmt.Println("the server said no")
	}
	// Output:
	// the tool did not run: try again
}

// A transport that knows that the server cannot have seen a request says so.
func ExampleWithOutcome() {
	err := mcp.WithOutcome(io.ErrClosedPipe, mcp.NotSent)
	fmt.Println(err, mcp.SafeToRetry(err), errors.Is(err, io.ErrClosedPipe))
	fmt.Println(io.ErrClosedPipe, mcp.SafeToRetry(io.ErrClosedPipe))
	// Output:
	// io: read/write on closed pipe true true
	// io: read/write on closed pipe false
}

func ExampleClient_Shutdown() {
	ctx := context.Background()
	c := mcp.NewClient("adder", adder(), nil)
	if _, err := c.Tools(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Shutdown(ctx)) // waits for calls under way
	fmt.Println(c.State().Phase)
	fmt.Println(errors.Is(c.Ping(ctx), mcp.ErrClosed))
	// Output:
	// <nil>
	// closed
	// true
}

func ExampleClient_Reconnect() {
	ctx := context.Background()
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()
	for range 2 {
		if err := c.Reconnect(ctx); err != nil { // after a login, for one
			fmt.Println(err)
		}
	}
	fmt.Println(c.State().Connections)
	// Output:
	// 2
}

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

func ExampleClient_RootsChanged() {
	roots := []*mcp.Root{{URI: "file:///home/ann/work"}}
	c := mcp.NewClient("adder", adder(), &mcp.ClientOptions{
		ListRoots: func(context.Context) ([]*mcp.Root, error) { return roots, nil },
	})
	defer c.Close()

	roots = append(roots, &mcp.Root{URI: "file:///home/ann/my%20notes"})
	fmt.Println(c.RootsChanged(context.Background()))
	// Output:
	// <nil>
}

// A handler asks the user before the model, and may say no. Package ask has
// handlers that do.
func ExampleSampleRequest() {
	agreed := func(r *mcp.SampleRequest) bool {
		return r.Server == "notes" && len(r.Params.Tools) == 0
	}
	opts := &mcp.ClientOptions{
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

func ExampleOutputError() {
	server := sdk.NewServer(&sdk.Implementation{Name: "counter", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{
		Name:         "count",
		InputSchema:  json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
	}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: json.RawMessage(`{"n":"many"}`)}, nil
	})
	c := mcp.NewClient("counter", &transport.Pipe{Serve: server.Run}, nil)
	defer c.Close()

	_, err := c.CallTool(context.Background(), "count", nil, nil)
	var invalid *mcp.OutputError
	if errors.As(err, &invalid) {
		fmt.Println(invalid.Path, mcp.OutcomeOf(err))
		fmt.Printf("%s\n", invalid.Result.StructuredContent)
	}
	// Output:
	// n answered
	// {"n":"many"}
}

// ExampleCallToolResult_WithContent passes a result on, and reads it if it has failed.
func ExampleCallToolResult_WithContent() {
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "add", json.RawMessage(`{"a":1,"b":2}`), &mcp.RequestOptions{SkipContent: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(res.Content), res.Raw() != nil)
	fmt.Println(res.WithContent().Text())
	// Output:
	// 0 true
	// 3
}

// A program that forwards results sends what the server sent, unless something of it was
// changed.
func ExampleCallToolResult_Raw() {
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "add", json.RawMessage(`{"a":1,"b":2}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(res.Raw()))
	res.Content[0].(*mcp.TextContent).Text = "[redacted]"
	fmt.Println(res.Raw() == nil)
	// Output:
	// {"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"adder","version":"1"}},"content":[{"type":"text","text":"3"}],"resultType":"complete"}
	// true
}

// What takes words out of texts takes the raw form away that holds one elsewhere.
func ExampleCallToolResult_CheckRaw() {
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "add", json.RawMessage(`{"a":1,"b":2}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res = res.CheckRaw(func(raw json.RawMessage) bool { return !bytes.Contains(raw, []byte("content")) })
	fmt.Println(res.Raw() == nil)
	// Output:
	// true
}
