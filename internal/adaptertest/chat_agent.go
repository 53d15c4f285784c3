package adaptertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Chat returns a loop of our own, without any framework, with a model that speaks
// [OpenAIChat]: for adapters that bring tools to a registry, or take them from it, and
// have no model of their own.
func Chat(t *testing.T, r *registry.Registry, url string) Agent {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &chatAgent{client: &http.Client{Transport: transport}, registry: r, url: url + "/chat/completions"}
}

type chatAgent struct {
	client   *http.Client
	registry *registry.Registry
	url      string
	messages []any

	turn    *profile.Turn
	waiting *profile.WaitingError
}

func (a *chatAgent) Ask(ctx context.Context, message string) (*Turn, error) {
	a.messages = append(a.messages, map[string]any{"role": "user", "content": message})
	return a.run(ctx)
}

func (a *chatAgent) Resume(ctx context.Context) (*Turn, error) {
	answers, err := a.turn.Wait(ctx, a.waiting)
	if err != nil {
		return nil, err
	}
	a.add(answers)
	return a.run(ctx)
}

func (a *chatAgent) run(ctx context.Context) (*Turn, error) {
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
			calls = append(calls, profile.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(*c.Function.Arguments)})
		}
		if len(calls) == 0 {
			var text string
			return &Turn{Text: text}, json.Unmarshal(message.Content, &text)
		}
		answers, err := turn.Run(ctx, calls)
		if errors.As(err, &a.waiting) {
			return Waiting(a.waiting), nil
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
			url := "data:" + m.Type + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
			images = append(images, map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}})
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
