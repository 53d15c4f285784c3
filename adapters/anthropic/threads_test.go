package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	belt "github.com/mcpbelt/mcpbelt/adapters/anthropic"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// threads are the message threads of the API, in front of a model that has none: it gets
// each request with the whole conversation.
type threads struct {
	none bool // the API keeps no conversation

	mu        sync.Mutex
	kept      map[string]threadBody // by the id of the answer
	created   int
	continued int
}

type threadBody map[string]json.RawMessage

// middleware returns the option of a client that has message threads.
func (h *threads) middleware() option.RequestOption {
	h.kept = map[string]threadBody{}
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var request threadBody
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		thread, threaded := request["thread"]
		if !threaded {
			r.Body = io.NopCloser(bytes.NewReader(body))
			return next(r)
		}
		if code := h.expand(request, thread, r.Header.Get("Anthropic-Beta")); code != "" {
			return refused(r, code), nil
		}
		if body, err = json.Marshal(request); err != nil {
			return nil, err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		response, err := next(r)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		return response, h.keep(request, response)
	})
}

// expand makes the whole conversation of a request. It returns the code of an error of the
// API, empty for none.
func (h *threads) expand(request threadBody, thread json.RawMessage, betas string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var is struct {
		Type     string `json:"type"`
		Previous string `json:"previous_message_id"`
	}
	if err := json.Unmarshal(thread, &is); err != nil || !strings.Contains(betas, "message-threads-2026-08-12") {
		return "invalid"
	}
	if h.none {
		return "thread_unsupported_request"
	}
	delete(request, "thread")
	if is.Type == "create" {
		h.created++
		return ""
	}
	before, ok := h.kept[is.Previous]
	if !ok {
		return "thread_not_found"
	}
	if request["tools"] != nil || request["system"] != nil {
		return "invalid"
	}
	var old, added []json.RawMessage
	_ = json.Unmarshal(before["messages"], &old)
	_ = json.Unmarshal(request["messages"], &added)
	request["messages"], _ = json.Marshal(slices.Concat(old, added))
	for _, name := range []string{"tools", "system"} {
		if before[name] != nil {
			request[name] = before[name]
		}
	}
	h.continued++
	return ""
}

var messageID = regexp.MustCompile(`"id":"msg[^"]*"`)

// keep keeps the conversation of a request with its answer, which gets an id of its own.
func (h *threads) keep(request threadBody, response *http.Response) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	id := fmt.Sprint("msg_", len(h.kept))
	data = messageID.ReplaceAll(data, []byte(`"id":"`+id+`"`))
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	response.Header.Del("Content-Length")
	var message anthropic.BetaMessage
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(string(data)) {
			var event anthropic.BetaRawMessageStreamEventUnion
			if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &event) == nil && event.Type != "ping" {
				if err := message.Accumulate(event); err != nil {
					return err
				}
			}
		}
	} else if err := json.Unmarshal(data, &message); err != nil {
		return err
	}
	var messages []json.RawMessage
	_ = json.Unmarshal(request["messages"], &messages)
	said, err := json.Marshal(message.ToParam())
	if err != nil {
		return err
	}
	request["messages"], err = json.Marshal(append(messages, said))
	h.kept[id] = request
	return err
}

func refused(r *http.Request, code string) *http.Response {
	body := fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":"no","details":{"error_code":%q}}}`, code)
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// newThreadClient returns a client of an API with message threads, or without.
func newThreadClient(url string, h *threads) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey("key"), option.WithMaxRetries(0), h.middleware())
}

// TestRunnerThread has a runner send what is new and no more, also when a request fails.
func TestRunnerThread(t *testing.T) {
	for _, c := range []struct {
		name               string
		api                *threads
		whole              bool
		created, continued int
	}{
		{"threads", &threads{}, false, 1, 3},
		{"none", &threads{none: true}, false, 0, 0},
		{"disabled", &threads{}, true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			it := counted("it")
			r := newRegistry(t, it)
			model := newEndpoint(t, calls(use("a", "it", `{}`)), calls(use("b", "it", `{}`)), reply{status: 500}, says("done"))
			client := newThreadClient(model.URL, c.api)
			tools, runner := newClientRunner(t, r, client, nil, anthropic.BetaToolRunnerParams{
				DisableThread: c.whole,
			})
			step(t, tools, runner)
			step(t, tools, runner)
			assert.OK(t, tools.Prepare(t.Context(), runner))
			assert.Fails(t, assert.Err(runner.NextMessage(t.Context())), "the request did not fail")
			assert.Equal(t, step(t, tools, runner).Content[0].Text, "done")
			got := model.requests()
			assert.Equal(t, len(got[len(got)-1].Results), 2)
			assert.Equal(t, len(it.calls()), 2, "calls")
			assert.Equal(t, c.api.created, c.created)
			assert.Equal(t, c.api.continued, c.continued, "requests that go on")
		})
	}
}

// TestRunnerAdded has no result sent twice when a request fails that has a message which the
// program has added behind the calls.
func TestRunnerAdded(t *testing.T) {
	model := newEndpoint(t, calls(use("a", "it", `{}`)), reply{status: 500}, says("done"))
	tools, runner := newRunner(t, newRegistry(t, tool("it")), model, nil)
	step(t, tools, runner)
	runner.AppendMessages(betaText("hurry"))
	assert.OK(t, tools.Prepare(t.Context(), runner))
	assert.Fails(t, assert.Err(runner.NextMessage(t.Context())), "the request did not fail")
	assert.Equal(t, step(t, tools, runner).Content[0].Text, "done")
	last := model.requests()[2]
	assert.Equal(t, len(last.Results), 1, "results")
	assert.True(t, slices.Equal(last.Users, []string{"go", "hurry"}), "got texts %q, want go and hurry", last.Users)
}

// TestRunnerLatePrepare leaves the tools of a thread as they are, which the API does not
// let a program change.
func TestRunnerLatePrepare(t *testing.T) {
	model := newEndpoint(t, calls(use("a", "it", `{}`)), says("done"))
	tools, runner := newRunner(t, newRegistry(t, tool("it")), model, nil)
	assert.Value(runner.NextMessage(t.Context()))(t)
	assert.Equal(t, step(t, tools, runner).Content[0].Text, "done")
}

// TestRunnerSearches declares the API's own tools once, where the program has given them
// to the runner.
func TestRunnerSearches(t *testing.T) {
	model := newEndpoint(t, says("done"))
	opts := &belt.Options{Turn: profile.TurnOptions{Options: profile.Options{Deferred: func(d *registry.Definition) bool { return d.Name == "later" }}}}
	r := newRegistry(t, tool("it"), tool("later"))
	turn := assert.Value(belt.Tools(t.Context(), r, opts))(t)
	tools, runner := newClientRunner(t, r, newClient(model.URL), opts, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Tools: turn.BetaParams()},
	})
	step(t, tools, runner)
	got := model.requests()[0].Raw
	assert.Equal(t, len(got), 3, "got %s, want the search and two tools", mustJSON(t, got))
}

// TestMessagesApart returns messages that the runner does not share.
func TestMessagesApart(t *testing.T) {
	tools, runner := newRunner(t, newRegistry(t, tool("it")), newEndpoint(t, calls(use("a", "it", `{}`))), nil)
	step(t, tools, runner)
	before := string(mustJSON(t, runner.Params.Messages))
	for _, m := range tools.Messages(runner) {
		if m.OfUser != nil {
			m.OfUser.Content = nil
		}
		if m.OfAssistant != nil {
			m.OfAssistant.Content = nil
		}
	}
	assert.Equal(t, string(mustJSON(t, runner.Params.Messages)), before)
}
