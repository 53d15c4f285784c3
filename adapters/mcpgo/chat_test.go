package mcpgo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// newChatAgent returns a loop without any framework, with a model that speaks
// [adaptertest.OpenAIChat].
func newChatAgent(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &chatAgent{client: &http.Client{Transport: transport}, registry: r, url: url + "/chat/completions"}
}

// A chatMessage is what the model answers with.
type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
}

type chatAgent struct {
	client   *http.Client
	registry *registry.Registry
	url      string
	messages []any

	turn    *profile.Turn
	waiting *profile.WaitingError
}

func (a *chatAgent) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	a.messages = append(a.messages, map[string]any{"role": "user", "content": message})
	return a.run(ctx)
}

func (a *chatAgent) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := a.turn.Wait(ctx, a.waiting)
	if err != nil {
		return nil, err
	}
	a.add(answers)
	return a.run(ctx)
}

func (a *chatAgent) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		turn, err := profile.NewTurn(ctx, a.registry, profile.OpenAI, nil)
		if err != nil {
			return nil, err
		}
		a.turn = turn
		message, err := a.complete(ctx)
		if err != nil {
			return nil, err
		}
		a.messages = append(a.messages, message)
		var calls []profile.Call
		for _, c := range message.ToolCalls {
			calls = append(calls, profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
		}
		if len(calls) == 0 {
			var text string
			return &adaptertest.Turn{Text: text}, json.Unmarshal(message.Content, &text)
		}
		answers, err := turn.Run(ctx, calls)
		if errors.As(err, &a.waiting) {
			return adaptertest.Waiting(a.waiting), nil
		}
		if a.add(answers); err != nil {
			return nil, err
		}
	}
}

// add adds the results of calls to the conversation.
func (a *chatAgent) add(answers []profile.Answer) {
	var images []any
	for _, answer := range answers {
		text, media := profile.Apart(profile.Parts(profile.OpenAI, answer.Result))
		a.messages = append(a.messages, map[string]any{"role": "tool", "tool_call_id": answer.Call.ID, "content": text})
		for _, m := range media {
			images = append(images, map[string]any{"type": "image_url", "image_url": map[string]any{"url": m.DataURL()}})
		}
	}
	if images != nil {
		a.messages = append(a.messages, map[string]any{"role": "user", "content": images})
	}
}

func (a *chatAgent) complete(ctx context.Context) (*chatMessage, error) {
	request := map[string]any{"model": "scripted", "messages": a.messages}
	var tools []json.RawMessage
	for _, t := range a.turn.Set().Tools() {
		tools = append(tools, t.ChatDeclaration())
	}
	if tools != nil {
		request["tools"] = tools
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the model refuses: %s", data)
	}
	var out struct {
		Choices []struct {
			Message chatMessage `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &out); err != nil || len(out.Choices) != 1 {
		return nil, fmt.Errorf("the model answers %s: %w", data, err)
	}
	return &out.Choices[0].Message, nil
}
