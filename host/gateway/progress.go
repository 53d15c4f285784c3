package gateway

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A progress reports the progress of a job to a client that gave a token for that, and a sign of
// life where there is none.
type progress struct {
	job   *job
	every time.Duration

	mu     sync.Mutex      // guards the following
	token  json.RawMessage // of the request that waits for the job; nil: it wants none
	last   float64
	silent time.Time // since when nothing was reported
	beats  int
}

// wants has the progress reported to a request, if that gave a token.
func (p *progress) wants(r *request) {
	token := member(r.params.meta, "progressToken")
	if !validID(token) {
		token = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token, p.silent = token, time.Now()
}

// report passes on what a server reports.
func (p *progress) report(params *mcp.ProgressParams) {
	p.mu.Lock()
	p.last, p.beats, p.silent = max(p.last, params.Progress), 0, time.Now()
	token := p.token
	p.mu.Unlock()
	p.send(token, params.Progress, params.Total, params.Message)
}

// beat sends a sign of life if the server was silent for long enough, and returns when to look
// again. The protocol wants every progress to be greater than the one before: the difference is too small to be seen.
func (p *progress) beat(now time.Time) time.Duration {
	p.mu.Lock()
	rest := p.every - now.Sub(p.silent)
	if rest > 0 || p.token == nil {
		p.mu.Unlock()
		if rest <= 0 {
			return p.every
		}
		return rest
	}
	token := p.token
	p.beats++
	p.silent = now
	value := p.last + float64(p.beats)*1e-6
	p.mu.Unlock()
	p.send(token, value, 0, "waiting for an answer")
	return p.every
}

func (p *progress) send(token json.RawMessage, value, total float64, message string) {
	if token == nil {
		return
	}
	p.job.send(notification("notifications/progress", struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{token, value, total, message}, ""))
}
