package eino_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// TestManyRuns has one agent run for many users at the same time, with parallel calls,
// while tools come and go.
func TestManyRuns(t *testing.T) {
	var l log
	reg := newCautious(t, &l)
	model := newModel(t)
	const runs = 24
	for range runs * 2 {
		model.Then(func(req *adaptertest.Request) adaptertest.Reply {
			if len(req.Results) == 0 {
				return calls("picture", `{}`, "picture", `{}`, "nobody", `{}`, "late", `{}`)(req)
			}
			return adaptertest.Reply{Text: "done"}
		})
	}
	b := belt.New(reg, nil)
	config := assert.Value(b.ToolsNode(t.Context()))(t)
	reacting := assert.Value(react.NewAgent(t.Context(), &react.AgentConfig{ToolCallingModel: b.Model(newModelOf(t, "", model.URL)), ToolsConfig: config, MaxStep: 20}))(t)
	stop := make(chan struct{})
	var changing, running sync.WaitGroup
	changing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			assert.Is(t, reg.Add(pictureTool("late", func() {})), nil)
			reg.Remove("late")
		}
	})
	for range runs {
		running.Go(func() {
			answer, err := reacting.Generate(t.Context(), []*schema.Message{schema.UserMessage("go")}, agent.WithComposeOptions(b.Live(t.Context())))
			assert.False(t, err != nil || answer.Content != "done", "%v, %v, %q", answer, err, model.Refused())
		})
	}
	running.Wait()
	close(stop)
	changing.Wait()
	for _, req := range model.Requests() {
		assert.False(t, len(req.Results) > 0 && (len(req.Results) != 4 || len(req.Media) < 2), "the model got %+v", req.Results)
	}
	assert.Equal(t, len(l.calls()), 2*runs, "the tools ran times")
}

// The race detector looks at streams with tools that return text, see
// TestChatModelAgentStream.
func TestStreamOfTexts(t *testing.T) {
	var l log
	model := newModel(t)
	model.Then(calls("picture", `{}`, "picture", `{}`, "nobody", `{}`), says("done"))
	turn, err := startAgent(&belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, true)(t, newCautious(t, &l), model.URL).Ask(t.Context(), "go")
	assert.False(t, err != nil || turn.Text != "done" || len(model.Requests()[1].Results) != 3, "%+v, %v, %q", turn, err, model.Refused())
}

// Whatever a model writes as arguments: the tool returns a result, and no error.
func FuzzArguments(f *testing.F) {
	for _, args := range []string{``, `{}`, `null`, `{"name":"a"}`, `{"name":1}`, `{"name":"a"`, `{"name":"a","name":"b"}`, "\x00", `[]`, `"{}"`, `{"name":"a"} {}`, `{"x":1e999}`, "{\"name\":\"\xff\"}"} {
		f.Add(args)
	}
	reg := registry.New(nil)
	assert.OK(f, reg.Add(registry.MustFunc("greet", "Greets", func(_ context.Context, in target) (string, error) { return "hello " + in.Name, nil })))
	tools := assert.Value(belt.New(reg, nil).Tools(context.Background()))(f)
	f.Fuzz(func(t *testing.T, args string) {
		res, err := tools[0].(tool.EnhancedInvokableTool).InvokableRun(t.Context(), &schema.ToolArgument{Text: args})
		assert.False(t, err != nil || len(res.Parts) != 1 || res.Parts[0].Text == "", "%q: %+v, %v", args, res, err)
		assert.False(t, assert.Value(belt.New(reg, nil).Unknown(t.Context(), args, args))(t) == "", "%q", args)
	})
}

// Calls of different users have the tools, and the approvals, of their own.
func TestInterruptsOfManyRuns(t *testing.T) {
	var l log
	b := belt.New(newCautious(t, &l), nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r := newRig(t, b, newStore())
			args := fmt.Sprintf(`{"name":"file %d"}`, i)
			_, waits, err := r.run(t.Context(), call("remove", args, "picture", `{}`, "picture", `{}`))
			if err != nil || len(waits) != 1 {
				t.Errorf("%+v, %v", waits, err)
				return
			}
			out, _, err := r.run(compose.ResumeWithData(t.Context(), waits[0].InterruptID, belt.Decision{Approve: true}), nil)
			assert.False(t, err != nil || texts(b, out)[0] != fmt.Sprintf("removed file %d", i), "%v, %v", out, err)
		})
	}
	wg.Wait()
	assert.Equal(t, len(l.calls()), 16*3, "the tools ran times")
}
