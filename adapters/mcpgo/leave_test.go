package mcpgo_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// A call that nobody waits for any more cannot be approved: its result would reach
// nobody, and the client may have made another one.
func TestWaitEndsWithTheClient(t *testing.T) {
	for name, over := range map[string]func(*testing.T, *server.MCPServer, ...client.ClientOption) *client.Client{"http": overHTTP, "stdio": overStdio} {
		t.Run(name, func(t *testing.T) {
			policy, err := policy.New(approval.Ask)
			if err != nil {
				t.Fatal(err)
			}
			r := with(t, &registry.Options{Approver: policy}, named("danger"))
			s := server.NewMCPServer("belt", "1")
			belt.NewExport(s, r, &belt.ExportOptions{Wait: true}).Refresh()
			c := over(t, s)
			calling, leave := context.WithCancel(t.Context())
			defer leave()
			background(t, func(context.Context) {
				_, _ = c.CallTool(calling, gomcp.CallToolRequest{Params: gomcp.CallToolParams{Name: "danger"}})
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only ends what would hang
			defer cancel()
			var id string
			for waiting := range r.WatchApprovals(ctx) {
				switch {
				case id == "" && len(waiting) == 1:
					id = waiting[0].ID
					leave()
				case id != "" && len(waiting) == 0:
					var over *approval.UnknownError
					if _, err := r.Approve(ctx, id, nil); !errors.As(err, &over) {
						t.Errorf("who approves it gets %v", err)
					}
					return
				}
			}
			t.Error("the call waits for ever")
		})
	}
}

// The address of a server may have a key in it, and the errors of net/http have the
// address.
func TestErrorsHideTheAddress(t *testing.T) {
	s := server.NewMCPServer("crew", "1")
	s.AddTool(gomcp.NewTool("echo"), func(context.Context, gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("hi"), nil
	})
	web := httptest.NewServer(server.NewStreamableHTTPServer(s))
	defer web.Close()
	c, err := client.NewStreamableHttpClient(strings.Replace(web.URL, "http://", "http://me:pass-hunter@", 1) + "/mcp?exampleApiKey=key-hunter")
	if err != nil {
		t.Fatal(err)
	}
	c = connect(t, c)
	r := registry.New(nil)
	source := belt.NewSource(c, registry.Server{Name: "crew"}, r)
	refresh(t, source)
	web.Close()
	_, err = r.Call(t.Context(), "crew__echo", nil)
	if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), web.URL) {
		t.Errorf("the error of a call is %v", err)
	}
	_, err = source.Refresh(t.Context())
	if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), web.URL) {
		t.Errorf("the error of a list is %v", err)
	}
}

// Equal calls have one approval: that of one who has gone goes on for another one.
func TestWaitOfEqualCalls(t *testing.T) {
	policy, err := policy.New(approval.Ask)
	if err != nil {
		t.Fatal(err)
	}
	r := with(t, &registry.Options{Approver: policy}, named("danger"))
	s := server.NewMCPServer("belt", "1")
	export := belt.NewExport(s, r, &belt.ExportOptions{Wait: true})
	export.Refresh()
	handler := s.GetTool("danger").Handler
	leaving, leave := context.WithCancel(t.Context())
	type answer struct {
		res *gomcp.CallToolResult
		err error
	}
	left, stayed := make(chan answer, 1), make(chan answer, 1)
	begun := func(ctx context.Context, over chan answer) {
		background(t, func(context.Context) {
			res, err := handler(ctx, gomcp.CallToolRequest{})
			over <- answer{res, err}
		})
	}
	begun(leaving, left)
	begun(t.Context(), stayed)
	for belt.Waiting(export) < 2 {
		runtime.Gosched()
	}
	leave()
	<-left
	waiting := r.Approvals(t.Context())
	if len(waiting) != 1 {
		t.Fatalf("%d approvals", len(waiting))
	}
	if _, err := r.Approve(t.Context(), waiting[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	if got := <-stayed; got.err != nil || got.res.IsError {
		t.Errorf("who stayed gets %+v", got)
	}
	if n := belt.Approvals(export); n != 0 {
		t.Errorf("%d approvals are kept", n)
	}
}
