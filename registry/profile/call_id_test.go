package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/transport"
)

// newCountRegistry returns a registry with the tool count of a server, which reports its
// progress up to "to", but not before two calls are there.
func newCountRegistry(t *testing.T, opts *registry.Options) *registry.Registry {
	t.Helper()
	var both sync.WaitGroup
	both.Add(2)
	server := sdk.NewServer(&sdk.Implementation{Name: "features", Version: "1"}, nil)
	type input struct {
		To int `json:"to"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "count"}, func(ctx context.Context, req *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		both.Done()
		both.Wait()
		for i := range in.To {
			p := &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.To)}
			if err := req.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(in.To)}}}, nil, nil
	})
	client := mcp.NewClient("features", &transport.Pipe{Serve: server.Run}, nil)
	t.Cleanup(func() { _ = client.Close() })
	listed := assert.Value(client.Tools(t.Context()))(t)
	r := registry.New(opts)
	assert.Value(r.Replace(registry.Server{Name: "features"}, []registry.Tool{registry.Remote("features", listed[0], client.CallTool)}))(t)
	return r
}

// Progress, observations and what middleware sees of two calls of one tool that run at
// the same time have the ids that the model gave the calls.
func TestTurnCallIDs(t *testing.T) {
	var (
		mu       sync.Mutex
		progress = map[string][]float64{}
		seen     = map[string][]string{} // by who saw it
	)
	note := func(who, id string) {
		mu.Lock()
		defer mu.Unlock()
		seen[who] = append(seen[who], id)
	}
	r := newCountRegistry(t, &registry.Options{
		Middleware: []registry.Middleware{func(next registry.Handler) registry.Handler {
			return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
				note("middleware", registry.CallIDOf(ctx))
				return next(ctx, c)
			}
		}},
		Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			note("approver", req.CallID)
			return approval.Decision{Verdict: approval.Allow}, nil
		}),
	})
	r.Observe(func(_ context.Context, o *registry.Observation) { note("observer", o.CallID) })
	turn := assert.Value(profile.NewTurn(t.Context(), r, profile.OpenAI, &profile.TurnOptions{
		Progress: func(c profile.Call, p *mcp.ProgressParams) {
			mu.Lock()
			defer mu.Unlock()
			key := c.ID + " " + c.Name
			progress[key] = append(progress[key], p.Progress)
		},
	}))(t)
	name := turn.Set().Tools()[0].Name
	ctx := registry.WithCallID(t.Context(), "turn 7")
	assert.Value(turn.Run(ctx, []profile.Call{
		{ID: "call_1", Name: name, Arguments: json.RawMessage(`{"to":2}`)},
		{ID: "call_2", Name: name, Arguments: json.RawMessage(`{"to":3}`)},
	}))(t)
	mu.Lock()
	defer mu.Unlock()
	want := map[string][]float64{"call_1 " + name: {1, 2}, "call_2 " + name: {1, 2, 3}}
	if !maps.EqualFunc(progress, want, slices.Equal) {
		t.Errorf("got the progress %v, want %v", progress, want)
	}
	for _, who := range []string{"approver", "middleware", "observer"} {
		slices.Sort(seen[who])
		if want := []string{"call_1", "call_2"}; !slices.Equal(seen[who], want) {
			t.Errorf("the %s got %q, want %q", who, seen[who], want)
		}
	}
}

// A call that is approved later has the id of the model's call, whoever approves it.
func TestTurnCallIDOfApproval(t *testing.T) {
	var seen []string
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	r.Observe(func(ctx context.Context, o *registry.Observation) {
		seen = append(seen, fmt.Sprintf("%s %s, context %s", o.Kind, o.CallID, registry.CallIDOf(ctx)))
	})
	turn := newTurn(t, r, nil, nativeTool("wipe", func(ctx context.Context) (*mcp.CallToolResult, error) {
		return says("ran for " + registry.CallIDOf(ctx)), nil
	}))
	_, err := turn.Run(t.Context(), []profile.Call{{ID: "call_1", Name: "wipe"}})
	var waiting *profile.WaitingError
	if !errors.As(err, &waiting) {
		t.Fatalf("got %v, want a WaitingError", err)
	}
	asked := r.Approvals(t.Context())
	if len(asked) != 1 || asked[0].CallID != "call_1" {
		t.Fatalf("got the approvals %+v, want one for call_1", asked)
	}
	assert.Value(r.Approve(registry.WithCallID(t.Context(), "click 9"), asked[0].ID, nil))(t)
	answers := assert.Value(turn.Wait(t.Context(), waiting))(t)
	if got, want := texts(answers), []string{"ran for call_1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"call call_1, context call_1", "approve call_1, context call_1"}; !slices.Equal(seen, want) {
		t.Errorf("observed %q, want %q", seen, want)
	}
}
