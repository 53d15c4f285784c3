package mcp_test

import (
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
