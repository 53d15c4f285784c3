package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// bakery is a server whose one tool takes its time, as a task.
func bakery() mcp.Transport {
	asked := 0
	answer := func(method string) string {
		bread := `"taskId":"bread-1","createdAt":"2026-01-02T03:04:05Z","lastUpdatedAt":"2026-01-02T03:04:05Z","ttl":60000,"pollInterval":50`
		switch method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"bakery","version":"1"}}`
		case "tools/list":
			return `{"tools":[{"name":"bake","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`
		case "tools/call":
			return `{"task":{"status":"working","statusMessage":"in the oven",` + bread + `}}`
		case "tasks/get":
			if asked++; asked > 1 {
				return `{"status":"completed",` + bread + `}`
			}
			return `{"status":"working","statusMessage":"in the oven",` + bread + `}`
		case "tasks/list":
			return `{"tasks":[{"status":"working",` + bread + `}]}`
		case "tasks/cancel":
			return `{"status":"cancelled",` + bread + `}`
		case "tasks/result":
			return `{"content":[{"type":"text","text":"bread"}]}`
		}
		return ""
	}
	return &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
		conn, err := t.Connect(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		for {
			m, err := conn.Read(ctx)
			if err != nil {
				return err
			}
			req, ok := m.(*jsonrpc.Request)
			if !ok || !req.IsCall() {
				continue
			}
			resp := &jsonrpc.Response{ID: req.ID, Result: []byte(answer(req.Method))}
			if len(resp.Result) == 0 {
				resp.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no " + req.Method}
			}
			if err := conn.Write(ctx, resp); err != nil {
				return err
			}
		}
	}}
}

func ExampleTaskOptions() {
	ctx := context.Background()
	c := mcp.NewClient("bakery", bakery(), nil)
	defer c.Close()

	res, err := c.CallTool(ctx, "bake", nil, &mcp.CallToolOptions{
		Task: &mcp.TaskOptions{
			TTL:    time.Hour,
			Update: func(task *mcp.Task) { fmt.Println(task.Status) }, // the place to store task.ID
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// working
	// completed
	// bread
}

// Who keeps the task when he goes can come back for the result.
func ExampleClient_ResumeTask() {
	ctx := context.Background()
	c := mcp.NewClient("bakery", bakery(), nil)
	defer c.Close()

	hurry, stop := context.WithCancel(ctx)
	_, err := c.CallTool(hurry, "bake", nil, &mcp.CallToolOptions{
		Task: &mcp.TaskOptions{Keep: true, Update: func(*mcp.Task) { stop() }},
	})
	var task *mcp.TaskError
	if !errors.As(err, &task) {
		fmt.Println(err)
		return
	}
	fmt.Println(task)

	res, err := c.ResumeTask(ctx, task.Task.ID, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// mcp: server "bakery": the task of bake (working) has no result: context canceled
	// bread
}

func ExampleClient_Task() {
	ctx := context.Background()
	c := mcp.NewClient("bakery", bakery(), nil)
	defer c.Close()

	task, err := c.Task(ctx, "bread-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(task.Status, task.StatusMessage, task.TTL, task.Status.Ended())
	// Output:
	// working in the oven 1m0s false
}

func ExampleClient_Tasks() {
	ctx := context.Background()
	c := mcp.NewClient("bakery", bakery(), nil)
	defer c.Close()

	for task, err := range c.Tasks(ctx) {
		if err != nil {
			fmt.Println(err) // errors.ErrUnsupported if the server has no such list
			return
		}
		fmt.Println(task.ID, task.Status)
	}
	// Output:
	// bread-1 working
}

func ExampleClient_CancelTask() {
	ctx := context.Background()
	c := mcp.NewClient("bakery", bakery(), nil)
	defer c.Close()

	fmt.Println(c.CancelTask(ctx, "bread-1"))
	err := c.CancelTask(ctx, strings.Repeat("bread", 1000))
	fmt.Println(mcp.SafeToRetry(err))
	// Output:
	// <nil>
	// true
}
