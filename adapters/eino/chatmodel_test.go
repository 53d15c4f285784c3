package eino_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// A chatModel speaks OpenAI's Chat Completions API, as the models of eino-ext do: it takes
// more than text in messages of the user alone.
type chatModel struct {
	client *http.Client
	url    string
	tools  []*schema.ToolInfo
}

func newChatModel(t *testing.T, url string) *chatModel {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return &chatModel{client: client, url: url}
}

func (m *chatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	if len(tools) == 0 {
		return nil, errors.New("no tools to bind")
	}
	with := *m
	with.tools = tools
	return &with, nil
}

type wireCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
}

func (m *chatModel) request(in []*schema.Message, stream bool, opts []model.Option) ([]byte, error) {
	body := map[string]any{"model": "scripted", "stream": stream}
	var messages []wireMessage
	for _, message := range in {
		w, err := wireOf(message)
		if err != nil {
			return nil, err
		}
		messages = append(messages, w)
	}
	body["messages"] = messages
	infos := m.tools
	if given := model.GetCommonOptions(nil, opts...).Tools; given != nil {
		infos = given
	}
	var tools []any
	for _, info := range infos {
		parameters, err := info.ToJSONSchema()
		if err != nil {
			return nil, err
		}
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
			"name": info.Name, "description": info.Desc, "parameters": parameters,
		}})
	}
	if tools != nil {
		body["tools"] = tools
	}
	return json.Marshal(body)
}

func wireOf(m *schema.Message) (wireMessage, error) {
	w := wireMessage{Role: string(m.Role), Content: m.Content, Reasoning: m.ReasoningContent, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		call := wireCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Function.Name, c.Function.Arguments
		w.ToolCalls = append(w.ToolCalls, call)
	}
	if len(m.UserInputMultiContent) == 0 {
		return w, nil
	}
	if m.Role != schema.User {
		return w, fmt.Errorf("more than text in a message of role %s", m.Role)
	}
	var parts []any
	for _, p := range m.UserInputMultiContent {
		switch p.Type {
		case schema.ChatMessagePartTypeText:
			parts = append(parts, map[string]any{"type": "text", "text": p.Text})
		case schema.ChatMessagePartTypeImageURL:
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{
				"url": "data:" + p.Image.MIMEType + ";base64," + *p.Image.Base64Data,
			}})
		case schema.ChatMessagePartTypeFileURL:
			parts = append(parts, map[string]any{"type": "file", "file": map[string]any{
				"filename": "file", "file_data": "data:" + p.File.MIMEType + ";base64," + *p.File.Base64Data,
			}})
		default:
			return w, fmt.Errorf("a part of type %s", p.Type)
		}
	}
	w.Content = parts
	return w, nil
}

func (m *chatModel) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := m.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		var refused struct{ Error struct{ Message string } }
		_ = json.NewDecoder(res.Body).Decode(&refused)
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, refused.Error.Message)
	}
	return res, nil
}

type wireAnswer struct {
	Content   string     `json:"content"`
	Reasoning string     `json:"reasoning_content"`
	ToolCalls []wireCall `json:"tool_calls"`
}

func (a wireAnswer) message() *schema.Message {
	var calls []schema.ToolCall
	for _, c := range a.ToolCalls {
		calls = append(calls, schema.ToolCall{Index: c.Index, ID: c.ID, Type: c.Type, Function: schema.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments}})
	}
	m := schema.AssistantMessage(a.Content, calls)
	m.ReasoningContent = a.Reasoning
	return m
}

func (m *chatModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	body, err := m.request(in, false, opts)
	if err != nil {
		return nil, err
	}
	res, err := m.post(ctx, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var out struct {
		Choices []struct{ Message wireAnswer }
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || len(out.Choices) == 0 {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return out.Choices[0].Message.message(), nil
}

func (m *chatModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	body, err := m.request(in, true, opts)
	if err != nil {
		return nil, err
	}
	res, err := m.post(ctx, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var chunks []*schema.Message
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta wireAnswer }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return nil, err
		}
		// The empty ones in front make the agent of react believe that there is text.
		if message := chunk.Choices[0].Delta.message(); message.Content != "" || message.ReasoningContent != "" || len(message.ToolCalls) > 0 {
			chunks = append(chunks, message)
		}
	}
	return schema.StreamReaderFromArray(chunks), lines.Err()
}
