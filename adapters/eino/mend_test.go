package eino_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

func infosOf(t *testing.T, tools []tool.BaseTool) []*schema.ToolInfo {
	t.Helper()
	var infos []*schema.ToolInfo
	for _, each := range tools {
		infos = append(infos, assert.Value(each.Info(t.Context()))(t))
	}
	return infos
}

// Without options names are those of OpenAI, and no tool is left to a search that eino
// does not have.
func TestDefaults(t *testing.T) {
	reg := registry.New(nil)
	finder := assert.Value(toolset.New(reg, nil))(t)
	for i := range 100 {
		assert.OK(t, reg.Add(returning(fmt.Sprintf("tool.%03d", i), nil)))
	}
	plain := assert.Value(belt.New(reg, &belt.Options{Turn: profile.TurnOptions{Finder: finder}}).Tools(t.Context()))(t)
	for _, info := range infosOf(t, plain) {
		assert.Lacks(t, info.Name, ".", "OpenAI takes no name such as")
	}
	assert.Equal(t, len(assert.Value(belt.New(reg, &belt.Options{Turn: profile.TurnOptions{Finder: finder, ProviderSearch: true}}).Tools(t.Context()))(t)), len(plain))
}

// A call that its context ended is an error, which says whether it was made.
func TestEndedCall(t *testing.T) {
	var l log
	tools := assert.Value(belt.New(newCautious(t, &l), nil).Tools(t.Context()))(t)
	gone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	at := slices.IndexFunc(infosOf(t, tools), func(i *schema.ToolInfo) bool { return i.Name == "picture" })
	res, err := tools[at].(tool.EnhancedInvokableTool).InvokableRun(ctx, &schema.ToolArgument{Text: "{}"})
	assert.False(t, !errors.Is(err, gone) || mcp.OutcomeOf(err) != mcp.NotSent || res != nil || len(l.calls()) > 0, "%v, %v, %q", res, err, l.calls())
}

// An approval for the conversation counts for the next call, after a restart as well.
func TestForConversation(t *testing.T) {
	for _, restart := range []bool{false, true} {
		var l log
		s := newStore()
		r := newRig(t, belt.New(newCautious(t, &l), nil), s)
		w := r.mustWait(t, t.Context(), call("remove", `{"name":"a"}`), 1)[0]
		if restart {
			r = restarted(t, &l, s)
		}
		r.mustEnd(t, compose.ResumeWithData(t.Context(), w.InterruptID, belt.Decision{Approve: true, ForConversation: true}), nil)
		assert.Equal(t, r.mustEnd(t, t.Context(), call("remove", `{"name":"b"}`))[0], "removed b", "restart=%v: the results", restart)
	}
}

// Other calls that are made after a restart do not make the belt forget the first.
func TestResumeTwoAfterRestart(t *testing.T) {
	var l log
	s := newStore()
	waits := restarted(t, &l, s).mustWait(t, t.Context(), call("remove", `{"name":"a"}`, "remove", `{"name":"b"}`), 2)
	checkpoint, _, _ := s.Get(t.Context(), "x")
	b := belt.New(newCautious(t, &l), nil)
	decisions := map[string]any{}
	for _, w := range waits {
		decisions[w.InterruptID] = belt.Decision{Approve: true}
	}
	for range 3 {
		assert.OK(t, s.Set(t.Context(), "x", checkpoint))
		assert.List(t, newRig(t, b, s).mustEnd(t, compose.BatchResumeWithData(t.Context(), decisions), nil), []string{"removed a", "removed b"}, "the results")
	}
	assert.Equal(t, len(l.calls()), 2, "the calls")
}

// Another user who resumes with the same belt is asked, whatever they bring.
func TestSameBeltAnotherUser(t *testing.T) {
	for _, decision := range []any{nil, belt.Decision{Approve: true}, belt.Decision{}} {
		var l log
		r := newRig(t, belt.New(newNosy(t, &l, nil), nil), newStore())
		w := r.mustWait(t, onbehalf.With(t.Context(), "alice"), call("remove", `{"name":"a"}`), 1)[0]
		ctx := onbehalf.With(t.Context(), "bob")
		if decision != nil {
			ctx = compose.ResumeWithData(ctx, w.InterruptID, decision)
		}
		assert.False(t, r.mustWait(t, ctx, nil, 1)[0].Approval == w.Approval, "with %v the calls are %q", decision, l.calls())
		assert.Equal(t, len(l.calls()), 0, "with %v the calls", decision)
	}
}

// A run that ends while another person's approval is being carried out ends at once.
func TestEndedWhileApprovedCallRuns(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	reg := registry.New(&registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	assert.OK(t, reg.Add(returning("slow", func() (*mcp.CallToolResult, error) {
		close(started)
		<-release
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})))
	r := newRig(t, belt.New(reg, nil), newStore())
	w := r.mustWait(t, t.Context(), call("slow", `{}`), 1)[0]
	over := make(chan error)
	go func() {
		_, err := reg.Approve(t.Context(), w.Approval, nil)
		over <- err
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := r.run(ctx, nil)
		ended <- err
	}()
	cancel()
	assert.Is(t, <-ended, context.Canceled, "the run ends with")
	close(release)
	assert.OK(t, <-over)
}

// The content that a message of a tool has beside its parts stays.
func TestContentBesideParts(t *testing.T) {
	m := schema.ToolMessage("first", "1")
	m.UserInputMultiContent = []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "second"}}
	assert.Equal(t, belt.New(registry.New(nil), nil).Messages([]*schema.Message{asking("1"), m})[1].Content, "first\nsecond", "the content")
}

// A name that a tool of the agent has is its own, whatever a server lists.
func TestNameTaken(t *testing.T) {
	reg := registry.New(nil)
	assert.OK(t, reg.Add(returning("own", func() (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the server's"}}}, nil
	})))
	b := belt.New(reg, nil)
	own := ownTool(t)
	info := assert.Value(own.Info(t.Context()))(t)
	model := newModel(t)
	model.Then(says("done"))
	with := assert.Value(b.Model(newModelOf(t, "", model.URL)).WithTools([]*schema.ToolInfo{info}))(t)
	assert.Value(with.Generate(t.Context(), []*schema.Message{schema.UserMessage("go")}))(t)
	assert.List(t, told(model.Requests()[0]), []string{"own"}, "the model is told of")
	config := assert.Value(b.ToolsNode(t.Context()))(t)
	node := assert.Value(compose.NewToolNode(t.Context(), &config))(t)
	run := assert.Value(compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(node).Compile(t.Context()))(t)
	assert.Equal(t, assert.Value(run.Invoke(t.Context(), call("own", `{"name":"x"}`), b.Live(t.Context(), own)))(t)[0].Content, "mine")
}
