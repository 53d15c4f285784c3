package gateway

import (
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// report passes on the progress of a server to the request that waits for the job.
func (j *job) report(params *mcp.ProgressParams) {
	j.mu.Lock()
	j.reported, j.beats, j.silent = max(j.reported, params.Progress), 0, time.Now()
	j.mu.Unlock()
	j.sendProgress(params.Progress, params.Total, params.Message)
}

// beat sends a sign of life if the server was silent for so long, and returns when to look
// again. The protocol wants every progress to be greater than the one before: the difference is too small to be seen.
func (j *job) beat(now time.Time, every time.Duration) time.Duration {
	j.mu.Lock()
	rest := every - now.Sub(j.silent)
	if rest > 0 {
		j.mu.Unlock()
		return rest
	}
	j.beats++
	j.silent = now
	value := j.reported + float64(j.beats)*1e-6
	j.mu.Unlock()
	j.sendProgress(value, 0, "waiting for an answer")
	return every
}

// sendProgress sends a progress notification, if one is wanted.
func (j *job) sendProgress(value, total float64, said string) {
	j.mu.Lock()
	token := j.token
	j.mu.Unlock()
	if token == nil {
		return
	}
	j.send(message.Notification(protocol.NoteProgress, struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{token, value, total, said}, ""))
}
