// Tests of turn.go and profile.go: the calls that a model makes, and their ids.

package profile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
		seen     = map[string][]string{} // by the one that saw it
	)
	note := func(who, id string) {
		mu.Lock()
		defer mu.Unlock()
		seen[who] = append(seen[who], id)
	}
	r := newCountRegistry(t, &registry.Options{
		Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			note("approver", req.CallID)
			return approval.Decision{Verdict: approval.Allow}, nil
		}),
	})
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
			note("middleware", registry.CallIDOf(ctx))
			return next(ctx, c)
		}
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
	assert.Equal(t, fmt.Sprint(progress), fmt.Sprint(want), "the progress")
	for _, who := range []string{"approver", "middleware", "observer"} {
		slices.Sort(seen[who])
		assert.Equal(t, fmt.Sprint(seen[who]), "[call_1 call_2]", "what the %s sees", who)
	}
}

// A call that is approved later has the id of the model's call, whoever approves it.
func TestTurnCallIDOfApproval(t *testing.T) {
	var seen []string
	r := newAskingRegistry(t)
	r.Observe(func(ctx context.Context, o *registry.Observation) {
		seen = append(seen, fmt.Sprintf("%s %s, context %s", o.Kind, o.CallID, registry.CallIDOf(ctx)))
	})
	turn := newTurn(t, r, nil, nativeTool("danger", func(ctx context.Context) (*mcp.CallToolResult, error) {
		return textResult("ran for " + registry.CallIDOf(ctx)), nil
	}))
	waiting := runWaiting(t, turn, "danger")
	asked := r.Approvals(t.Context())
	assert.Equal(t, len(asked), 1, "approvals")
	assert.Equal(t, asked[0].CallID, "1", "the call of the approval")
	assert.Value(r.Approve(registry.WithCallID(t.Context(), "click 9"), asked[0].ID, nil))(t)
	assert.Equal(t, texts(assert.Value(turn.Wait(t.Context(), waiting))(t)), "ran for 1", "the answer")
	assert.Equal(t, strings.Join(seen, "; "), "call 1, context 1; approve 1, context 1", "what is observed")
}

func TestSetCall(t *testing.T) {
	ctx := t.Context()
	reg := registry.New(nil)
	type input struct {
		To   string   `json:"to"`
		Tags []string `json:"tags,omitempty"`
		Note *string  `json:"note,omitempty"`
	}
	var got input
	send := registry.MustFunc("mail.send", "Send a mail", func(_ context.Context, in input) (string, error) {
		got = in
		return "sent", nil
	})
	other := registry.MustFunc("other", "Another tool", func(context.Context, struct{}) (string, error) { return "other", nil })
	assert.OK(t, reg.Add(send, other))
	set := assert.Value(profile.Compile(profile.OpenAIStrict, []registry.Tool{send}, nil))(t)
	name := set.Tools()[0].Name
	assert.True(t, set.Tools()[0].Strict, "strict")
	for _, as := range []string{name, "Mail-Send"} {
		assert.Value(set.Call(ctx, reg, as, json.RawMessage(`{"to":"you","tags":["a"],"note":null}`)))(t)
		assert.Equal(t, fmt.Sprint(got), "{you [a] <nil>}", "%s: the arguments", as)
	}
	assert.Value(set.Call(ctx, reg, "other", nil))(t) // which is not in the set
	assert.As[*registry.UnknownToolError](t, assert.Err(set.Call(ctx, reg, "nothing", nil)))
	for _, args := range []string{`{"to":`, `{"to":7,"tags":null,"note":null}`} {
		assert.As[*registry.ArgumentsError](t, assert.Err(set.Call(ctx, reg, name, json.RawMessage(args))), args)
	}
}
