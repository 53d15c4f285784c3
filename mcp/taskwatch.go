package mcp

import (
	"encoding/json"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxTaskProgress bounds the notifications of progress that wait for a slow
// callback; when more arrive the oldest are dropped.
const maxTaskProgress = 256

// taskWatches are those who wait for tasks of revision 2025-11-25.
type taskWatches struct {
	mu  sync.Mutex
	set map[*taskWatch]struct{}
}

// A taskWatch hears what the server sends about one task, between answers. It is
// made before there is a task: progress may overtake the caller.
type taskWatch struct {
	wake chan struct{} // capacity 1: something below changed

	// The following are guarded by the lock of taskWatches.
	token    int64 // of the call's progress
	id       string
	changed  bool
	progress []json.RawMessage
}

func (s *taskWatches) join() *taskWatch {
	w := &taskWatch{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = make(map[*taskWatch]struct{})
	}
	s.set[w] = struct{}{}
	return w
}

// leave ends a watch, which may be nil.
func (s *taskWatches) leave(w *taskWatch) {
	if w == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.set, w)
}

// expect tells a watch, which may be nil, the token of its call.
func (s *taskWatches) expect(w *taskWatch, token int64) {
	if w == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.token = token
}

// named tells a watch the id of its task.
func (s *taskWatches) named(w *taskWatch, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.id = id
}

// take returns what a watch has heard since it was asked last.
func (s *taskWatches) take(w *taskWatch) (progress []json.RawMessage, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	progress, changed = w.progress, w.changed
	w.progress, w.changed = nil, false
	return progress, changed
}

// taskProgress takes a notification of progress that belongs to no open request.
func (t *tap) taskProgress(params json.RawMessage) {
	s := &t.client.tasks
	token := inflight.Token(params)
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.set {
		if w.token == token && token != 0 && len(params) <= inflight.MaxProgressBytes {
			if len(w.progress) == maxTaskProgress {
				w.progress = append(w.progress[:0], w.progress[1:]...)
			}
			w.progress = append(w.progress, params)
			poke(w.wake)
		}
	}
}

// taskChanged takes the announcement that a task has changed. It says what has
// changed, but may have been overtaken by an answer.
func (c *Client) taskChanged(params json.RawMessage) {
	id, _ := jsonscan.String(memberOf(params, "taskId"))
	c.tasks.mu.Lock()
	defer c.tasks.mu.Unlock()
	for w := range c.tasks.set {
		if w.id == id && id != "" {
			w.changed = true
			poke(w.wake)
		}
	}
}
