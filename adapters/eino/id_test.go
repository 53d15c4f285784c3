package eino_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A vagueModel says what it is told to, in a stream in these pieces, and keeps what it was
// asked. It has callbacks of its own, as the models of eino-ext do.
type vagueModel struct {
	mu    sync.Mutex
	says  [][]*schema.Message
	asked [][]*schema.Message
}

func (m *vagueModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m *vagueModel) next(in []*schema.Message) ([]*schema.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, slices.Clone(in))
	if len(m.says) == 0 {
		return nil, errors.New("nothing to say")
	}
	out := m.says[0]
	m.says = m.says[1:]
	return out, nil
}

func (m *vagueModel) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	pieces, err := m.next(in)
	if err != nil {
		return nil, err
	}
	out, err := schema.ConcatMessages(pieces)
	if err == nil {
		callbacks.OnEnd(callbacks.EnsureRunInfo(ctx, "Vague", components.ComponentOfChatModel), &model.CallbackOutput{Message: out})
	}
	return out, err
}

func (m *vagueModel) IsCallbacksEnabled() bool { return true }

func (m *vagueModel) Stream(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.next(in)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(out), nil
}

// piece is a piece of a call, without an index if that is negative.
func piece(index int, id, name, arguments string) *schema.Message {
	c := schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}
	if index >= 0 {
		c.Index = &index
	}
	return schema.AssistantMessage("", []schema.ToolCall{c})
}

// Some models have no ids for calls, or the name of the tool as one. What eino keeps by id
// of one call it would give to another one: here an approved call would not be made, and
// the model would be told that it was.
func TestCallsWithoutIDs(t *testing.T) {
	remove := func(index int, id, name string) *schema.Message {
		return piece(index, id, "remove", `{"name":"`+name+`"}`)
	}
	for name, says := range map[string][]*schema.Message{
		"none":    {piece(-1, "", "picture", `{}`), remove(-1, "", "a"), remove(-1, "", "b")},
		"indexed": {piece(0, "", "picture", `{}`), remove(1, "", "a"), remove(2, "", "b")},
		"names":   {piece(-1, "picture", "picture", `{}`), remove(-1, "remove", "a"), remove(-1, "remove", "b")},
		"chunks": {piece(0, "", "picture", `{`), piece(0, "late", "", `}`), piece(1, "remove", "remove", `{"name":"a"`), piece(1, "remove", "", `}`),
			piece(2, "remove", "remove", `{"name":`), piece(2, "", "", `"b"}`)},
		"one index": {piece(0, "1", "picture", `{}`), remove(0, "2", "a"), remove(0, "3", "b")},
	} {
		for _, streams := range []bool{false, true} {
			if name == "one index" && !streams {
				continue // the model could not put them together
			}
			var l log
			m := &vagueModel{says: [][]*schema.Message{says, {schema.AssistantMessage("done", nil)}}}
			agent := &graphAgent{belt: belt.New(newCautious(t, &l), &belt.Options{Turn: profile.TurnOptions{TextOnly: streams}})}
			graph := newReact(t, agent, m)
			run := func(ctx context.Context, in []*schema.Message) (*schema.Message, error) {
				opts := []compose.Option{agent.belt.Live(ctx), compose.WithCheckPointID("x")}
				if !streams {
					return graph.Invoke(ctx, in, opts...)
				}
				out, err := graph.Stream(ctx, in, opts...)
				if err != nil {
					return nil, err
				}
				return schema.ConcatMessageStream(out)
			}
			_, err := run(t.Context(), []*schema.Message{schema.UserMessage("go")})
			info, ok := compose.ExtractInterruptInfo(err)
			if !ok {
				t.Fatalf("%s: %v", name, err)
			}
			waits, yes := belt.Waits(info.InterruptContexts), belt.Decision{Approve: true}
			if len(waits) != 2 {
				t.Fatalf("%s: it waits for %+v", name, waits)
			}
			if _, err := run(deciding(t.Context(), waits, yes, yes), nil); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			last := m.asked[len(m.asked)-1]
			got := texts(agent.belt, last)
			if len(got) != 3 || !strings.Contains(got[0], "[image") || got[1] != "removed a" || got[2] != "removed b" {
				t.Errorf("%s: the results are %q", name, got)
			}
			assert.Equal(t, len(l.calls()), 3, "%s: the calls", name)
			if again := said(agent.belt.Messages(last)); again != said(last) || strings.Contains(again, "lost") {
				t.Errorf("%s: the model was told %q, and then %q", name, said(last), again)
			}
		}
	}
}

// The events of an agent of adk have what the model said, without ids, and results with
// them: they belong together all the same.
func TestHistoryWithoutIDs(t *testing.T) {
	var l log
	m := &vagueModel{says: [][]*schema.Message{
		{piece(-1, "", "picture", `{}`), piece(-1, "", "nobody", `{}`)}, {schema.AssistantMessage("one", nil)},
		{piece(-1, "", "picture", `{}`)}, {schema.AssistantMessage("two", nil)},
	}}
	a := &adkAgent{belt: belt.New(newCautious(t, &l), nil), model: m, store: newStore()}
	for _, want := range []string{"one", "two"} {
		assert.Equal(t, assert.Value(a.Ask(t.Context(), "go"))(t).Text, want)
	}
	if roles := len(a.messages); roles != 9 || a.messages[1].ToolCalls[0].ID != "" {
		t.Fatalf("the events are %q", said(a.messages))
	}
	last := m.asked[len(m.asked)-1]
	for _, word := range strings.Fields(said(last)) {
		assert.False(t, strings.HasPrefix(word, "lost"), "the model was told %q", said(last))
	}
	if got := texts(a.belt, last); len(got) != 3 || !strings.HasPrefix(got[0], "look") || !strings.HasPrefix(got[1], "The tool failed") || !strings.HasPrefix(got[2], "look") {
		t.Errorf("the results are %q", got)
	}
}
