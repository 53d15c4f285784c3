package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

const (
	maxAnswer      = 16 << 20 // bytes of one answer of the endpoint
	maxErrorText   = 500      // bytes of an error's text that are shown
	maxRetries     = 3        // of a request that the endpoint was too busy for
	maxRetryWait   = time.Minute
	requestTimeout = 5 * time.Minute
)

// The messages of the chat completions API, as far as they are used here.
type (
	// A Message is one entry of the conversation.
	Message struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`

		// Parts, if there are any, stand in the place of Content.
		Parts []Part `json:"-"`
		// raw is a message of the model as it came. It goes back like that:
		// some endpoints want fields again that are not among the above.
		raw json.RawMessage
	}
	// A Part is a piece of a message with images.
	Part struct {
		Type     string    `json:"type"` // text or image_url
		Text     string    `json:"text,omitempty"`
		ImageURL *ImageURL `json:"image_url,omitempty"`
	}
	// An ImageURL is the address of an image, which may be a data URL.
	ImageURL struct {
		URL string `json:"url"`
	}
	// A ToolCall is the model's request to run a tool.
	ToolCall struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"` // JSON, if the model got it right
		} `json:"function"`
	}
	request struct {
		Model    string            `json:"model"`
		Messages []Message         `json:"messages"`
		Tools    []json.RawMessage `json:"tools,omitempty"`
	}
	completion struct {
		Choices []struct {
			Message      Message `json:"message"`
			FinishReason string  `json:"finish_reason"`
		} `json:"choices"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
)

func (m Message) MarshalJSON() ([]byte, error) {
	if m.raw != nil {
		return m.raw, nil
	}
	if m.Parts != nil {
		return json.Marshal(map[string]any{"role": m.Role, "content": m.Parts})
	}
	type plain Message
	return json.Marshal(plain(m))
}

func (m *Message) UnmarshalJSON(data []byte) error {
	type plain Message
	m.raw = bytes.Clone(data)
	return json.Unmarshal(data, (*plain)(m))
}

// An EndpointError is an answer of the endpoint that is not a success.
type EndpointError struct {
	Status     int
	Text       string // what the endpoint says about it, shortened; never the key
	RetryAfter time.Duration
}

func (e *EndpointError) Error() string {
	return fmt.Sprintf("the endpoint answered %d %s: %q", e.Status, http.StatusText(e.Status), e.Text)
}

// An Endpoint is a model behind the chat completions API.
type Endpoint struct {
	BaseURL   string // such as https://api.openai.com/v1
	Key       string // sent as a bearer token; may be empty
	Model     string
	Transport http.RoundTripper
}

// Complete returns the model's next message. A request that the endpoint is too
// busy for is repeated when the endpoint says, or after a growing pause.
func (e *Endpoint) Complete(ctx context.Context, messages []Message, tools *profile.Set) (Message, error) {
	ask := request{Model: e.Model, Messages: messages}
	for _, t := range tools.Tools() {
		ask.Tools = append(ask.Tools, t.ChatDeclaration())
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return Message{}, err
	}
	for attempt := 0; ; attempt++ {
		message, err := e.post(ctx, body)
		var refused *EndpointError
		if !errors.As(err, &refused) || attempt == maxRetries ||
			refused.Status != http.StatusTooManyRequests && refused.Status != http.StatusServiceUnavailable {
			return message, err
		}
		wait := cmp.Or(refused.RetryAfter, time.Second<<attempt)
		if wait > maxRetryWait {
			return message, err
		}
		select {
		case <-ctx.Done():
			return message, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (e *Endpoint) post(ctx context.Context, body []byte) (Message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	url := strings.TrimSuffix(e.BaseURL, "/") + "/chat/completions"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Message{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	// RoundTrip follows no redirect: the key and the conversation go to the
	// configured endpoint and nowhere else.
	res, err := e.Transport.RoundTrip(req)
	if err != nil {
		return Message{}, fmt.Errorf("asking the endpoint: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return Message{}, fmt.Errorf("reading the endpoint's answer: %w", err)
	}
	var got completion
	err = json.Unmarshal(data, &got)
	switch {
	case res.StatusCode != http.StatusOK:
		text := cmp.Or(got.Error.Message, string(data))
		if e.Key != "" { // endpoints have been seen to repeat it
			text = strings.ReplaceAll(text, e.Key, "[redacted]")
		}
		seconds, _ := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16)
		return Message{}, &EndpointError{res.StatusCode, strings.ToValidUTF8(text[:min(len(text), maxErrorText)], ""), time.Duration(seconds) * time.Second}
	case len(data) > maxAnswer:
		return Message{}, fmt.Errorf("the endpoint's answer has more than %d bytes", maxAnswer)
	case err != nil:
		return Message{}, fmt.Errorf("the endpoint's answer is not a chat completion: %w", err)
	case len(got.Choices) == 0:
		return Message{}, errors.New("the endpoint's answer has no choice")
	}
	message := got.Choices[0].Message
	if message.Content == "" && len(message.ToolCalls) == 0 {
		return Message{}, fmt.Errorf("the model's answer is empty (finish reason %q)", got.Choices[0].FinishReason)
	}
	return message, nil
}
