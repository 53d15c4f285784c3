package gateway

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A progress reports the progress of a request to a client that gave a token for that, and a sign of
// life where there is none.
type progress struct {
	token json.RawMessage
	every time.Duration
	job   *job

	mu     sync.Mutex // guards the following
	last   float64
	silent time.Time // since when nothing was reported
	beats  int
}

// progress returns what reports the progress of a job to a request, or nil if the client gave no token.
func (r *request) progress(j *job) *progress {
	token := message.Member(r.params.Meta, "progressToken")
	if !message.ValidID(token) {
		return nil
	}
	return &progress{token: token, every: r.gateway.limits.Heartbeat, job: j, silent: time.Now()}
}

// report passes on what a server reports.
func (p *progress) report(params *mcp.ProgressParams) {
	p.mu.Lock()
	p.last, p.beats, p.silent = max(p.last, params.Progress), 0, time.Now()
	p.mu.Unlock()
	p.send(params.Progress, params.Total, params.Message)
}

// beat sends a sign of life if the server was silent for long enough, and returns when to look
// again. The protocol wants every progress to be greater than the one before: the difference is too small to be seen.
func (p *progress) beat(now time.Time) time.Duration {
	p.mu.Lock()
	rest := p.every - now.Sub(p.silent)
	if rest > 0 {
		p.mu.Unlock()
		return rest
	}
	p.beats++
	p.silent = now
	value := p.last + float64(p.beats)*1e-6
	p.mu.Unlock()
	p.send(value, 0, "waiting for an answer")
	return p.every
}

func (p *progress) send(value, total float64, said string) {
	p.job.send(message.Notification(protocol.NoteProgress, struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{p.token, value, total, said}, ""))
}
