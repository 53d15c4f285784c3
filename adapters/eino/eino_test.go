package eino_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMain(m *testing.M) {
	schema.RegisterName[*conversation]("test_conversation") // eino takes it once
	// genai links what starts this one.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// A store keeps checkpoints as bytes, as a database does.
type store struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func newStore() *store { return &store{kept: map[string][]byte{}} }

func (s *store) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.kept[id]
	return slices.Clone(data), ok, nil
}

func (s *store) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[id] = slices.Clone(data)
	return nil
}

// waiting returns the turn of an interrupted run.
func waiting(interrupts []*compose.InterruptCtx) *adaptertest.Turn {
	turn := &adaptertest.Turn{}
	for _, w := range belt.Waits(interrupts) {
		turn.Waits = append(turn.Waits, w.Wait)
	}
	return turn
}

// A graphAgent is a conversation with a graph.
type graphAgent struct {
	belt     *belt.Belt
	graph    compose.Runnable[[]*schema.Message, *schema.Message]
	messages []*schema.Message
}

func (g *graphAgent) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	return g.run(ctx, append(slices.Clone(g.messages), schema.UserMessage(message)), compose.WithForceNewRun())
}

func (g *graphAgent) Resume(ctx context.Context) (*adaptertest.Turn, error) { return g.run(ctx, nil) }

func (g *graphAgent) run(ctx context.Context, in []*schema.Message, opts ...compose.Option) (*adaptertest.Turn, error) {
	answer, err := g.graph.Invoke(ctx, in, append(opts, g.belt.Live(ctx), compose.WithCheckPointID("conversation"))...)
	if info, ok := compose.ExtractInterruptInfo(err); ok {
		return waiting(info.InterruptContexts), nil
	}
	if err != nil {
		return nil, err
	}
	return &adaptertest.Turn{Text: answer.Content}, nil
}

// A conversation is the state of the graph below.
type conversation struct{ Messages []*schema.Message }

// TestToolsNode has a graph of a model and a tools node.
func TestToolsNode(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "eino", Runtime: "ToolsNode", Framework: "github.com/cloudwego/eino",
		Wire: adaptertest.OpenAIChat{}, Interrupt: "`tool.StatefulInterrupt`",
		Without: map[string]string{"lost": "a graph that was interrupted goes on with the calls, whatever else it is given"},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			agent := &graphAgent{belt: belt.New(r, nil)}
			agent.graph = newGraph(t, agent, newModelOf(t, "", url))
			return agent
		},
	})
}

func newGraph(t *testing.T, agent *graphAgent, m model.ToolCallingChatModel) compose.Runnable[[]*schema.Message, *schema.Message] {
	ctx := t.Context()
	config := assert.Value(agent.belt.ToolsNode(ctx))(t)
	node := assert.Value(compose.NewToolNode(ctx, &config))(t)
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *conversation { return &conversation{} }))
	assert.OK(t, errors.Join(
		g.AddChatModelNode("model", agent.belt.Model(m),
			compose.WithStatePreHandler(func(_ context.Context, in []*schema.Message, s *conversation) ([]*schema.Message, error) {
				s.Messages = append(s.Messages, in...)
				return s.Messages, nil
			}),
			compose.WithStatePostHandler(func(_ context.Context, out *schema.Message, s *conversation) (*schema.Message, error) {
				s.Messages = append(s.Messages, out)
				agent.messages = s.Messages
				return out, nil
			})),
		g.AddToolsNode("tools", node),
		g.AddEdge(compose.START, "model"),
		g.AddEdge("tools", "model"),
		g.AddBranch("model", compose.NewGraphBranch(func(_ context.Context, m *schema.Message) (string, error) {
			if len(m.ToolCalls) > 0 {
				return "tools", nil
			}
			return compose.END, nil
		}, map[string]bool{"tools": true, compose.END: true})),
	))
	return assert.Value(g.Compile(ctx, compose.WithCheckPointStore(newStore()), compose.WithMaxRunSteps(100)))(t)
}

// TestReact has an agent of the package react, in a graph that keeps checkpoints.
func TestReact(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "eino", Runtime: "React", Framework: "github.com/cloudwego/eino",
		Wire: adaptertest.OpenAIChat{}, Interrupt: "`tool.StatefulInterrupt`",
		Without: map[string]string{"lost": "a graph that was interrupted goes on with the calls, whatever else it is given"},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			agent := &graphAgent{belt: belt.New(r, nil)}
			agent.graph = newReact(t, agent, newModelOf(t, "", url))
			return agent
		},
	})
}

func newReact(t *testing.T, agent *graphAgent, m model.ToolCallingChatModel) compose.Runnable[[]*schema.Message, *schema.Message] {
	ctx := t.Context()
	config := assert.Value(agent.belt.ToolsNode(ctx))(t)
	reacting := assert.Value(react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: agent.belt.Model(m),
		ToolsConfig:      config,
		MaxStep:          100,
		MessageRewriter: func(_ context.Context, messages []*schema.Message) []*schema.Message {
			agent.messages = slices.Clone(messages)
			return messages
		},
	}))(t)
	inner, opts := reacting.ExportGraph()
	g := compose.NewGraph[[]*schema.Message, *schema.Message]()
	assert.OK(t, errors.Join(
		g.AddGraphNode("agent", inner, opts...),
		g.AddEdge(compose.START, "agent"),
		g.AddEdge("agent", compose.END),
	))
	return assert.Value(g.Compile(ctx, compose.WithCheckPointStore(newStore())))(t)
}

// An adkAgent is a conversation with a ChatModelAgent, which is made anew for each run.
// Its messages are those of the events.
type adkAgent struct {
	belt      *belt.Belt
	model     model.ToolCallingChatModel
	store     *store
	streaming bool
	messages  []*schema.Message
}

func (a *adkAgent) runner(ctx context.Context) (*adk.Runner, error) {
	tools, err := a.belt.AgentTools(ctx)
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "agent", Description: "has the tools", Model: a.belt.Model(a.model), ToolsConfig: tools, MaxIterations: 100,
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: a.store, EnableStreaming: a.streaming}), nil
}

func (a *adkAgent) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	runner, err := a.runner(ctx)
	if err != nil {
		return nil, err
	}
	a.messages = append(a.messages, schema.UserMessage(message))
	return a.events(runner.Run(ctx, a.messages, adk.WithCheckPointID("conversation")))
}

func (a *adkAgent) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	runner, err := a.runner(ctx)
	if err != nil {
		return nil, err
	}
	events, err := runner.Resume(ctx, "conversation")
	if err != nil {
		return nil, err
	}
	return a.events(events)
}

func (a *adkAgent) events(events *adk.AsyncIterator[*adk.AgentEvent]) (*adaptertest.Turn, error) {
	turn := &adaptertest.Turn{}
	var failed error
	for {
		event, ok := events.Next()
		if !ok {
			return turn, failed
		}
		failed = errors.Join(failed, event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			turn.Waits = waiting(event.Action.Interrupted.InterruptContexts).Waits
		}
		if event.Output != nil && event.Output.MessageOutput != nil {
			message, err := event.Output.MessageOutput.GetMessage()
			if err != nil {
				return nil, err
			}
			a.messages = append(a.messages, message)
			turn.Text = message.Content
		}
	}
}

// startAgent starts conversations with agents of adk.
func startAgent(opts *belt.Options, streaming bool) func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		return &adkAgent{belt: belt.New(r, opts), model: newModelOf(t, "", url), store: newStore(), streaming: streaming}
	}
}

func TestChatModelAgent(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "eino", Runtime: "ChatModelAgent", Framework: "github.com/cloudwego/eino",
		Wire: adaptertest.OpenAIChat{}, Interrupt: "`tool.StatefulInterrupt`", Start: startAgent(nil, false),
	})
}
