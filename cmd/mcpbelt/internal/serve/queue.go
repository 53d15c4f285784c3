package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// maxWaiting bounds the calls that wait at one time; further ones are denied.
const maxWaiting = 200

// A waiting is a call that waits for the user, in the output of approve.
type waiting struct {
	ID      string          `json:"id"`
	Station string          `json:"station"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Since   time.Time       `json:"since"`

	answer chan bool
}

// A queue has calls that are not known to be read-only wait until the user approves or
// denies them. It is safe for concurrent use.
type queue struct {
	mu    sync.Mutex
	calls map[string]*waiting
}

func newQueue() *queue { return &queue{calls: map[string]*waiting{}} }

// Approve implements registry.Approver.
func (q *queue) Approve(ctx context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
	if d := policy.Cautious().Decide(r); d.Verdict == approval.Allow {
		return d, nil
	}
	w := &waiting{ID: strings.ToLower(rand.Text()[:8]), Server: r.Tool.Origin.Server, Tool: r.Tool.Name, Args: r.Args, Since: time.Now().UTC(), answer: make(chan bool, 1)}
	q.mu.Lock()
	full := len(q.calls) >= maxWaiting
	if !full {
		q.calls[w.ID] = w
	}
	q.mu.Unlock()
	if full {
		return approval.Decision{Reason: "too many calls wait for the user already"}, nil
	}
	defer func() {
		q.mu.Lock()
		delete(q.calls, w.ID)
		q.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return approval.Decision{}, ctx.Err()
	case yes := <-w.answer:
		if yes {
			return approval.Decision{Verdict: approval.Allow}, nil
		}
		return approval.Decision{Reason: "the user denied it"}, nil
	}
}

// waiting returns the calls that wait, the oldest first.
func (q *queue) waiting() []*waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := []*waiting{}
	for _, w := range q.calls {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *waiting) int { return a.Since.Compare(b.Since) })
	return list
}

// answer answers the call of an id, and reports whether there is one.
func (q *queue) answer(id string, yes bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.calls[id]
	if w != nil {
		delete(q.calls, id)
		w.answer <- yes
	}
	return w != nil
}
