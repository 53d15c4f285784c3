package registry_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// askAll asks the user for each call.
func askAll(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
	return approval.Decision{Verdict: approval.Ask}, nil
}

// guarded returns a registry whose one tool needs approval.
func guarded() *registry.Registry {
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(askAll)})
	_ = r.Add(registry.MustFunc("delete", "Delete a file", func(_ context.Context, in struct {
		Path string `json:"path"`
	}) (string, error) {
		return in.Path + " is gone", nil
	}))
	return r
}

// deleteFile has the model call the tool, and returns what waits for the user.
func deleteFile(ctx context.Context, r *registry.Registry, path string) *registry.ApprovalRequest {
	_, err := r.Call(ctx, "delete", json.RawMessage(`{"path":"`+path+`"}`))
	var required *registry.ApprovalRequiredError
	if !errors.As(err, &required) {
		fmt.Println(err)
		return &registry.ApprovalRequest{}
	}
	return required.Request
}

// The user at the terminal decides, while the call waits.
func ExampleApproverFunc() {
	in := bufio.NewReader(strings.NewReader("no\nalways\n")) // os.Stdin, in a program
	atTheTerminal := func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		if req.Approved {
			return approval.Decision{Verdict: approval.Allow}, nil
		}
		// Quoted, what the model wrote can neither hide nor move the question.
		fmt.Fprintf(os.Stdout, "Run %q with %q? ", req.Tool.Name, req.Args)
		answer, err := in.ReadString('\n')
		if err != nil {
			return approval.Decision{}, err
		}
		answer = strings.TrimSpace(answer)
		fmt.Println(answer)
		switch answer {
		case "yes":
			return approval.Decision{Verdict: approval.Allow}, nil
		case "always":
			return approval.Decision{Verdict: approval.AllowForConversation}, nil
		}
		return approval.Decision{Verdict: approval.Deny, Reason: "the user said no"}, nil
	}

	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(atTheTerminal)})
	_ = r.Add(registry.MustFunc("add", "Add two numbers", add))
	for range 3 {
		res, err := r.Call(context.Background(), "add", json.RawMessage(`{"a": 1, "b": 2}`))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// Run "add" with "{\"a\": 1, \"b\": 2}"? no
	// calling tool "add" is not allowed: the user said no
	// Run "add" with "{\"a\": 1, \"b\": 2}"? always
	// 3
	// 3
}

func ExampleRegistry_Approve() {
	ctx := context.Background()
	r := guarded()
	asked := deleteFile(ctx, r, "a.txt")
	fmt.Printf("May %s be called with %s?\n", asked.Tool.Name, asked.Args)

	// Later, in the handler of the button "Approve".
	res, err := r.Approve(ctx, asked.ID, nil)
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)

	// A second click does nothing.
	_, err = r.Approve(ctx, asked.ID, nil)
	fmt.Println(err)
	// Output:
	// May delete be called with {"path":"a.txt"}?
	// a.txt is gone <nil>
	// the call does not wait for approval: it was approved and made
}

// What is allowed for a session is not asked for again in that conversation.
func ExampleApproveOptions() {
	ctx := registry.WithConversation(context.Background(), "conversation 1")
	r := guarded()
	asked := deleteFile(ctx, r, "a.txt")
	_, err := r.Approve(ctx, asked.ID, &registry.ApproveOptions{ForConversation: true})
	fmt.Println(err)

	res, err := r.Call(ctx, "delete", json.RawMessage(`{"path":"b.txt"}`))
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)
	// Output:
	// <nil>
	// b.txt is gone <nil>
}

// An agent goes on with its loop once a person has answered elsewhere.
func ExampleRegistry_Await() {
	ctx := context.Background()
	r := guarded()
	call := func(name string, args json.RawMessage) (*mcp.CallToolResult, error) {
		res, err := r.Call(ctx, name, args)
		var required *registry.ApprovalRequiredError
		if errors.As(err, &required) {
			return r.Await(ctx, required.Request.ID)
		}
		return res, err
	}

	go func() { // the user, at a web page
		for waiting := range r.WatchApprovals(ctx) {
			if len(waiting) > 0 {
				_ = r.Deny(ctx, waiting[0].ID, "keep that file")
				return
			}
		}
	}()
	_, err := call("delete", json.RawMessage(`{"path":"a.txt"}`))
	fmt.Println(err)
	// Output: calling tool "delete" is not allowed: the user refused it: keep that file
}

func ExampleRegistry_Deny() {
	ctx := context.Background()
	r := guarded()
	asked := deleteFile(ctx, r, "a.txt")
	fmt.Println(r.Deny(ctx, asked.ID, ""))
	_, err := r.Approve(ctx, asked.ID, nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// the call does not wait for approval: it was refused
}

func ExampleRegistry_Approvals() {
	ctx := context.Background()
	r := guarded()
	deleteFile(ctx, r, "a.txt")
	deleteFile(ctx, r, "b.txt")
	deleteFile(ctx, r, "a.txt") // the model repeats itself
	for _, req := range r.Approvals(ctx) {
		fmt.Println(req.Tool.Name, string(req.Args))
	}
	// Output:
	// delete {"path":"a.txt"}
	// delete {"path":"b.txt"}
}

func ExampleRegistry_WatchApprovals() {
	ctx := context.Background()
	r := guarded()
	for waiting := range r.WatchApprovals(ctx) {
		fmt.Println(len(waiting), "waiting")
		if len(waiting) > 0 {
			break
		}
		deleteFile(ctx, r, "a.txt")
	}
	// Output:
	// 0 waiting
	// 1 waiting
}

func ExampleRegistry_EndConversation() {
	ctx := registry.WithConversation(context.Background(), "conversation 1")
	r := guarded()
	asked := deleteFile(ctx, r, "a.txt")
	r.EndConversation(ctx)
	_, err := r.Await(ctx, asked.ID)
	fmt.Println(err)
	// Output: calling tool "delete" is not allowed: the conversation has ended
}

func ExampleRegistry_RevokeGrants() {
	ctx := context.Background()
	r := guarded()
	asked := deleteFile(ctx, r, "a.txt")
	_, _ = r.Approve(ctx, asked.ID, &registry.ApproveOptions{ForConversation: true})
	r.RevokeGrants(ctx)
	_, err := r.Call(ctx, "delete", json.RawMessage(`{"path":"b.txt"}`))
	fmt.Println(err)
	// Output: tool "delete" has to be approved by the user first; do not call it again before that
}

// The context of a call names the person who is asked, such as the user of the connection by which the
// call came.
func ExampleWithAsk() {
	r := guarded()
	ctx := registry.WithAsk(context.Background(), func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		fmt.Printf("Run %s with %s?\n", req.Tool.Name, req.Args)
		return approval.Decision{Verdict: approval.Allow}, nil
	})
	res, err := r.Call(ctx, "delete", json.RawMessage(`{"path":"a.txt"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text())
	// Output:
	// Run delete with {"path":"a.txt"}?
	// a.txt is gone
}
