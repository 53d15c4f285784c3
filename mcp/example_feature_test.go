// Examples of package mcp: resources, prompts, elicitation, tasks and others.

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// library is a server with a resource, a template, a prompt and completions.
func library() mcp.Transport {
	s := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, &sdk.ServerOptions{
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			res := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
			for _, name := range []string{"Ada", "Alan", "Grace"} {
				if strings.HasPrefix(name, r.Params.Argument.Value) {
					res.Completion.Values = append(res.Completion.Values, name)
				}
			}
			return res, nil
		},
	})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		if r.Params.URI != "book://ada" {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "Notes on the engine"}}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "book://ada", Name: "ada"}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "book://{author}", Name: "by author"}, read)
	s.AddPrompt(&sdk.Prompt{Name: "praise", Arguments: []*sdk.PromptArgument{{Name: "author"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{
				Role: "user", Content: &sdk.TextContent{Text: "Praise " + r.Params.Arguments["author"] + "."},
			}}}, nil
		})
	return &transport.Pipe{Serve: s.Run}
}

func ExampleClient_Resources() {
	c := mcp.NewClient("library", library(), nil)
	defer c.Close()
	for r, err := range c.Resources(context.Background()) {
		if err != nil {
			fmt.Println(err) // the last yield
			return
		}
		fmt.Println(r.URI)
	}
	// Output:
	// book://ada
}

// A tool without a name costs no other. What was left out can be shown.
func ExampleClient_ListProblems() {
	s := sdk.NewServer(&sdk.Implementation{Name: "careless", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "good", InputSchema: map[string]any{"type": "object"}}, nil)
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			if list, ok := res.(*sdk.ListToolsResult); ok {
				list.Tools = append(list.Tools, &sdk.Tool{InputSchema: map[string]any{"type": "object"}})
			}
			return res, err
		}
	})
	c := mcp.NewClient("careless", &transport.Pipe{Serve: s.Run}, nil)
	defer c.Close()
	tools, err := c.Tools(context.Background())
	fmt.Println(len(tools), err)
	for _, p := range c.ListProblems() {
		fmt.Println(p.Method, p.Path, p.Token)
	}
	// Output:
	// 1 <nil>
	// tools/list tools[1] invalid
}

func ExampleClient_ResourceTemplates() {
	c := mcp.NewClient("library", library(), nil)
	defer c.Close()
	for t, err := range c.ResourceTemplates(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.URITemplate)
	}
	// Output:
	// book://{author}
}

func ExampleClient_ReadResource() {
	ctx := context.Background()
	c := mcp.NewClient("library", library(), nil)
	defer c.Close()
	res, err := c.ReadResource(ctx, "book://ada", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Contents[0].Text)
	_, err = c.ReadResource(ctx, "book://eve", nil)
	fmt.Println(errors.Is(err, mcp.ErrResourceNotFound))
	// Output:
	// Notes on the engine
	// true
}

func ExampleClient_Prompts() {
	c := mcp.NewClient("library", library(), nil)
	defer c.Close()
	for p, err := range c.Prompts(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Name, p.Arguments[0].Name)
	}
	// Output:
	// praise author
}

func ExampleClient_GetPrompt() {
	c := mcp.NewClient("library", library(), nil)
	defer c.Close()
	res, err := c.GetPrompt(context.Background(), "praise", map[string]string{"author": "Ada"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range res.Messages {
		if text, ok := m.Content.(*mcp.TextContent); ok {
			fmt.Println(m.Role, "says:", text.Text)
		}
	}
	// Output:
	// user says: Praise Ada.
}

func ExampleClient_Complete() {
	c := mcp.NewClient("library", library(), nil)
	defer c.Close()
	res, err := c.Complete(context.Background(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "praise"},
		Argument: mcp.CompleteArgument{Name: "author", Value: "A"},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Completion.Values)
	// Output:
	// [Ada Alan]
}

func ExampleClient_SetLogLevel() {
	c := mcp.NewClient("library", library(), &mcp.ClientOptions{
		LogLevel: "warning",
		Log: func(m *mcp.LogMessage) {
			fmt.Printf("%s: %s: %s\n", m.Server, m.Level, m.Data)
		},
	})
	defer c.Close()
	fmt.Println(c.SetLogLevel(context.Background(), "debug")) // when something is to be found out
	fmt.Println(c.LogLevel())
	fmt.Println(mcp.SafeToRetry(c.SetLogLevel(context.Background(), "loud")))
	// Output:
	// <nil>
	// debug
	// true
}

// greeter is a server with a tool that asks for a name before it answers.
func greeter() mcp.Transport {
	s := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "greet", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			answer, ok := r.Params.InputResponses["who"].(*sdk.ElicitResult)
			if !ok {
				return &sdk.CallToolResult{
					InputRequests: sdk.InputRequestMap{"who": &sdk.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"name":{"type":"string"}}}`)}},
					RequestState: "asked",
				}, nil
			}
			text := fmt.Sprintf("Hello, %v!", answer.Content["name"])
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
	return &transport.Pipe{Serve: s.Run}
}

// A gateway asks the user whose call made the server ask, and nobody else.
func ExampleElicitRequest() {
	type user struct{}
	c := mcp.NewClient("greeter", greeter(), &mcp.ClientOptions{
		Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if !r.Caused {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			fmt.Println("asking", ctx.Value(user{}), "for", r.Tool)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
	})
	defer c.Close()
	ctx := context.WithValue(context.Background(), user{}, "user 7")
	res, err := c.CallTool(ctx, "greet", nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// asking user 7 for greet
	// Hello, Ann!
}

// A gateway without state hands on what the server needs, and makes the next round when
// its own client calls again.
func ExampleInputRound() {
	ctx := context.Background()
	c := mcp.NewClient("greeter", greeter(), &mcp.ClientOptions{
		// It declares the capability, and is called by servers of older revisions.
		Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	defer c.Close()

	_, err := c.CallTool(ctx, "greet", nil, &mcp.RequestOptions{Input: &mcp.InputRound{}})
	var need *mcp.InputRequiredError
	if !errors.As(err, &need) {
		fmt.Println(err)
		return
	}
	fmt.Println(err)
	fmt.Printf("%s\n", need.State)

	res, err := c.CallTool(ctx, "greet", nil, &mcp.RequestOptions{Input: &mcp.InputRound{
		Responses: json.RawMessage(`{"who":{"action":"accept","content":{"name":"Bob"}}}`),
		State:     need.State,
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// mcp: server "greeter": tools/call greet: the server needs input
	// "asked"
	// Hello, Bob!
}

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

	res, err := c.CallTool(ctx, "bake", nil, &mcp.RequestOptions{
		Task: &mcp.TaskOptions{
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

// A caller that keeps the task when it goes can come back for the result.
func ExampleClient_ResumeTask() {
	ctx := context.Background()
	c := mcp.NewClient("bakery", bakery(), nil)
	defer c.Close()

	hurry, stop := context.WithCancel(ctx)
	_, err := c.CallTool(hurry, "bake", nil, &mcp.RequestOptions{
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

// How far a task is, and its end, are requests of their own.
func ExampleClient_Request_task() {
	ctx := context.Background()
	c := mcp.NewClient("bakery", bakery(), nil)
	defer c.Close()

	bread := json.RawMessage(`{"taskId":"bread-1"}`)
	task, err := c.Request(ctx, "tasks/get", bread, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var now struct{ Status, StatusMessage string }
	fmt.Println(json.Unmarshal(task, &now), now.Status, now.StatusMessage)
	_, err = c.Request(ctx, "tasks/cancel", bread, nil)
	fmt.Println(err)
	// Output:
	// <nil> working in the oven
	// <nil>
}
