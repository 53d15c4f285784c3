package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

type addInput struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b" jsonschema:"the second number"`
}

func add(_ context.Context, in addInput) (int, error) { return in.A + in.B, nil }

func ExampleFunc() {
	tool, err := registry.Func("add", "Add two numbers", add)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(tool.Definition().InputSchema))

	res, err := tool.Call(context.Background(), json.RawMessage(`{"a": 1, "b": 2}`))
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)

	_, err = tool.Call(context.Background(), json.RawMessage(`{"a": "1", "c": 2}`))
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"a":{"type":"integer","description":"the first number"},"b":{"type":"integer","description":"the second number"}},"required":["a","b"],"additionalProperties":false}
	// 3 <nil>
	// arguments of tool "add": "a" must be an integer, not a string; "b" is missing; it must be an integer; "the second number"; "c" is not known; known are "a", "b"
}

func ExampleMustFunc() {
	tool := registry.MustFunc("now", "Tell the time", func(context.Context, struct{}) (string, error) {
		return "half past nine", nil
	})
	res, err := tool.Call(context.Background(), nil)
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)
	// Output: half past nine <nil>
}

func ExampleWith() {
	tool, err := registry.With(registry.MustFunc("add", "Add two numbers", add), func(d *registry.Definition) {
		d.Title = "Addition"
		d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := tool.Definition()
	fmt.Println(d.Name, d.Title, d.Annotations.ReadOnlyHint)
	// Output: add Addition true
}

func ExampleNew() {
	r := registry.New(nil)
	fmt.Println(len(r.Snapshot().Tools()), "tools")
	// Output: 0 tools
}

func ExampleRegistry_Add() {
	r := registry.New(nil)
	fmt.Println(r.Add(registry.MustFunc("add", "Add two numbers", add)))
	fmt.Println(r.Add(registry.MustFunc("add", "Add to the list", add)))
	// Output:
	// <nil>
	// registry: the name "add" for a native tool is taken by a native tool; rename one of them
}

func ExampleRemote() {
	ctx := context.Background()
	c := mcp.NewClient("notes", &transport.Pipe{Serve: notesServer("created ").Run}, nil)
	defer func() { _ = c.Close() }()
	listed, err := c.Tools(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote("notes", tool, c.CallTool))
	}
	r := registry.New(nil)
	diff, err := r.Replace(registry.Server{Name: "notes"}, tools)
	fmt.Println(diff.Added, err)

	res, err := r.Call(ctx, "notes__create", json.RawMessage(`{"title":"Buy milk"}`))
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)
	// Output:
	// [notes__create notes__fail] <nil>
	// created {"title":"Buy milk"} <nil>
}

func ExampleRegistry_Replace() {
	r := registry.New(nil)
	tools := []registry.Tool{
		serverTool("notes", "create", "Make a note"),
		serverTool("notes", "delete", "Delete a note"),
	}
	diff, err := r.Replace(registry.Server{Name: "notes"}, tools)
	fmt.Println(diff.Added, diff.Removed, err)
	diff, err = r.Replace(registry.Server{Name: "notes"}, tools[:1])
	fmt.Println(diff.Added, diff.Removed, err)
	// Output:
	// [notes__create notes__delete] [] <nil>
	// [] [notes__delete] <nil>
}

func ExampleRegistry_Remove() {
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))
	r.Remove("add")
	_, ok := r.Snapshot().Lookup("add")
	fmt.Println(ok)
	// Output: false
}

func ExampleRegistry_Snapshot() {
	r := registry.New(nil)
	_ = r.Add(
		registry.MustFunc("sum", "Add two numbers", add),
		registry.MustFunc("plus", "Add two numbers", add),
	)
	for _, tool := range r.Snapshot().Tools() {
		fmt.Println(tool.Definition().Name)
	}
	// Output:
	// plus
	// sum
}

func ExampleRegistry_Watch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := registry.New(nil)
	for s := range r.Watch(ctx) {
		fmt.Println("version", s.Version(), "with", len(s.Tools()), "tools")
		if len(s.Tools()) > 0 {
			break
		}
		_ = r.Add(registry.MustFunc("add", "Add two numbers", add))
	}
	// Output:
	// version 1 with 0 tools
	// version 2 with 1 tools
}

// A program that passes results on sends what the server sent.
func ExampleRegistry_Forward() {
	r := registry.New(nil)
	if err := r.Add(registry.MustFunc("add", "Add two numbers", add)); err != nil {
		fmt.Println(err)
		return
	}
	res, err := r.Forward(context.Background(), "add", json.RawMessage(`{"a": 1, "b": 2}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := res.Raw()
	if answer == nil { // it is not as a server sent it: here it comes from a tool of this program
		answer, err = json.Marshal(res)
	}
	fmt.Println(string(answer), err)
	// Output: {"content":[{"type":"text","text":"3"}],"structuredContent":3} <nil>
}

func ExampleRegistry_Call() {
	ctx := context.Background()
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))

	res, err := r.Call(ctx, "add", json.RawMessage(`{"a": 1, "b": 2}`))
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)

	_, err = r.Call(ctx, "addd", nil)
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// unknown tool "addd"; did you mean "add"?
}

// Models misspell names.
func ExampleRegistry_Resolve() {
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("add_numbers", "Add two numbers", add))
	def, ok := r.Resolve("Add-Numbers")
	fmt.Println(def.Name, ok)
	// Output: add_numbers true
}

func ExampleRegistry_Use() {
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			if call.Tool.Annotations == nil || !call.Tool.Annotations.ReadOnlyHint {
				return nil, errors.New(call.Tool.Name + " may write; ask a person first")
			}
			return next(ctx, call)
		}
	})
	_, err := r.Call(context.Background(), "add", json.RawMessage(`{"a": 1, "b": 2}`))
	fmt.Println(err)
	// Output: add may write; ask a person first
}

func ExampleWithProgress() {
	tool := registry.MustFunc("count", "Count to three", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 3 {
			registry.ReportProgress(ctx, &mcp.ProgressParams{Progress: float64(i + 1), Total: 3})
		}
		return "done", nil
	})
	ctx := registry.WithProgress(context.Background(), func(p *mcp.ProgressParams) {
		fmt.Println(p.Progress, "of", p.Total)
	})
	res, err := tool.Call(ctx, nil)
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)
	// Output:
	// 1 of 3
	// 2 of 3
	// 3 of 3
	// done <nil>
}

// A program that follows several calls at a time tells them apart.
func ExampleWithCallID() {
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("copy", "Copy a file", func(ctx context.Context, _ struct{}) (string, error) {
		return "copied for " + registry.CallIDOf(ctx), nil
	}))
	r.Observe(func(_ context.Context, o *registry.Observation) {
		fmt.Println(o.CallID, "is over:", o.Tool.Name)
	})
	res, err := r.Call(registry.WithCallID(context.Background(), "call_1"), "copy", nil)
	fmt.Println(result.Text(res), err)
	// Output:
	// call_1 is over: copy
	// copied for call_1 <nil>
}

func ExampleReportProgress() {
	registry.MustFunc("copy", "Copy all files", func(ctx context.Context, _ struct{}) (string, error) {
		files := []string{"a", "b"}
		for i, name := range files {
			registry.ReportProgress(ctx, &mcp.ProgressParams{Message: name, Progress: float64(i), Total: float64(len(files))})
		}
		return "copied", nil
	})
}

func ExampleRegistry_Callable() {
	policy, err := policy.New(approval.Allow, policy.Rule{Verdict: approval.Deny, User: "guest", Tool: "wipe"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := registry.New(&registry.Options{Approver: policy})
	wipe := registry.MustFunc("wipe", "Forget everything", func(context.Context, struct{}) (string, error) { return "done", nil })
	if err := r.Add(registry.MustFunc("add", "Add two numbers", add), wipe); err != nil {
		fmt.Println(err)
		return
	}
	for _, user := range []string{"alice", "guest"} {
		ctx := session.WithUser(context.Background(), user)
		for _, tool := range r.Callable(ctx) {
			fmt.Println(user, tool.Definition().Name)
		}
	}
	// Output:
	// alice add
	// alice wipe
	// guest add
}

// A program tells a person beforehand which tools they will be asked about.
func ExampleRegistry_Decide() {
	r := registry.New(&registry.Options{Approver: policy.Cautious()})
	wipe := registry.MustFunc("wipe", "Forget everything", func(context.Context, struct{}) (string, error) { return "done", nil })
	if err := r.Add(wipe); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Decide(context.Background(), "wipe"))
	// Output: ask true
}

// A registry whose tools have their own names.
func ExampleOptions_names() {
	r := registry.New(&registry.Options{Names: names.BareTool})
	for server, tools := range map[string][]string{
		"github": {"create_issue", "search"},
		"docs":   {"find", "fetch"},
	} {
		var listed []registry.Tool
		for _, tool := range tools {
			listed = append(listed, &plainTool{def: &registry.Definition{
				InputSchema: json.RawMessage(`{"type":"object"}`),
				Origin:      registry.Origin{Server: server, Tool: tool},
			}, answer: textResult("found")})
		}
		if _, err := r.Replace(registry.Server{Name: server}, listed); err != nil {
			fmt.Println(err)
		}
	}
	for _, t := range r.Snapshot().Tools() {
		fmt.Println(t.Definition().Name)
	}

	// Models do not always write names as they are listed.
	_, err := r.Call(context.Background(), "GitHub.createIssue", nil)
	fmt.Println(err)
	// Output:
	// create_issue
	// fetch
	// find
	// search
	// <nil>
}

// What a tool would be called can be told before it is there.
func ExampleRegistry_Names() {
	r := registry.New(&registry.Options{Names: names.MCPServerTool})
	name := r.Names().Name("github", "create_issue")
	fmt.Println(name)
	// Output: mcp__github__create_issue
}

func ExampleDefinition_DisplayName() {
	d := &registry.Definition{Name: "github__create_issue", Origin: registry.Origin{Server: "github", Tool: "create_issue"}}
	fmt.Println(d.DisplayName())
	// Output: github:create_issue (MCP)
}

func ExampleRegistry_Observe() {
	r := registry.New(nil)
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))
	stop := r.Observe(func(_ context.Context, o *registry.Observation) {
		fmt.Println(o.Kind, o.Name, string(o.Arguments), o.Err != nil)
	})
	defer stop()
	ctx := context.Background()
	_, _ = r.Call(ctx, "add", json.RawMessage(`{"a":1,"b":2}`))
	_, _ = r.Call(ctx, "subtract", nil)
	// Output:
	// call add {"a":1,"b":2} false
	// call subtract  true
}
