package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
)

// An endpoint of the Messages API answers with what it is told, and refuses what the
// API would.
type endpoint struct {
	*httptest.Server
	t       *testing.T
	mu      sync.Mutex
	replies []reply
	got     []received
}

// A reply is a message, or a failure.
type reply struct {
	status  int    // 0: 200
	stop    string // stop reason
	content string // blocks
}

type received struct {
	*adaptertest.Request
	Raw      []json.RawMessage `json:"tools"`
	Messages []json.RawMessage `json:"messages"`
}

func newEndpoint(t *testing.T, replies ...reply) *endpoint {
	e := &endpoint{t: t, replies: replies}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var wire adaptertest.Anthropic
	req, err := wire.Read(r, body)
	if err != nil {
		e.t.Errorf("refused: %v\n%s", err, body)
		wire.Refuse(w, err.Error())
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	in := received{Request: req}
	if err := json.Unmarshal(body, &in); err != nil {
		e.t.Error(err)
	}
	e.got = append(e.got, in)
	if len(e.replies) == 0 {
		e.t.Error("more requests than replies")
		wire.Refuse(w, "no more")
		return
	}
	next := e.replies[0]
	e.replies = e.replies[1:]
	if next.status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(next.status)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"api_error","message":"out of order"}}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"msg","type":"message","role":"assistant","model":"scripted","content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, next.content, next.stop)
}

// requests returns what the model was asked.
func (e *endpoint) requests() []received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]received(nil), e.got...)
}

func says(text string) reply {
	return reply{stop: "end_turn", content: fmt.Sprintf(`{"type":"text","text":%q}`, text)}
}

func calls(blocks ...string) reply {
	return reply{stop: "tool_use", content: strings.Join(blocks, ",")}
}

func use(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}
