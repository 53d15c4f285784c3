package apps

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Bounds of what one app sends, and of what waits for it.
const (
	burst      = 200 // messages at once
	rate       = 50  // messages each second, after these
	maxRunning = 16  // requests at once
	maxNews    = 256 // messages to it
	maxResult  = 4 << 20
	maxKept    = 256 << 20 // of messages to all apps
)

// A Shown is an app that is shown for one call of its tool. Its JSON is for the page of the user: whoever has the ID, and
// is the user, may use the app.
type Shown struct {
	// ID is the app's, which cannot be guessed. It is good until the app ends.
	ID string `json:"id"`
	// Server is the configured name of the server whose app it is.
	Server string `json:"server"`
	// Tool is the name of the tool there.
	Tool string `json:"tool"`
	// Title is what the app is called before people, on one line.
	Title string `json:"title"`
	// User is on whose behalf the call was made, see session.WithUser; empty: no user was named.
	User string `json:"-"`
	// Conversation is that of the call, see [registry.WithConversation]; empty if it has none.
	Conversation string `json:"-"`
	// CallID is that of the call, see [registry.WithCallID]; empty if it has none.
	CallID string `json:"-"`

	apps    *Apps
	def     *registry.Definition
	owner   string        // who may use it: the user, or a key of package admin without one
	running chan struct{} // has an element for each request that is answered

	// The following are guarded by the mutex of apps.
	used    time.Time // when a page has asked last
	news    []news    // for the page, the oldest first
	last    int       // number of the last news
	size    int       // bytes of news
	page    *page     // without its text; nil: not read yet
	frame   string    // token of the frame that has it; empty: none
	ended   string    // why it has ended; empty: it has not
	left    float64   // messages that it may send now
	counted time.Time // when left was
}

// A news is a message to an app.
type news struct {
	number  int
	message json.RawMessage
	passing bool // it may be missed
}

// push sends a notification to the app.
func (s *Shown) push(method string, params any) {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return // of what cannot be said
	}
	s.apps.mu.Lock()
	defer s.apps.mu.Unlock()
	if at := slices.IndexFunc(s.news, func(n news) bool { return n.passing }); len(s.news) >= maxNews && at >= 0 {
		s.news = slices.Delete(s.news, at, at+1)
	}
	s.last++
	s.news = append(s.news, news{s.last, message, method == "notifications/progress"})
	if s.ended == "" {
		s.size += len(message)
		s.apps.kept += len(message)
	}
	s.apps.wakeLocked()
}

// finish tells the app what became of its call.
func (s *Shown) finish(ctx context.Context, res *mcp.CallToolResult, err error) {
	if err != nil {
		reason := registry.ErrorResult(err).Text()
		if ctx.Err() != nil {
			reason = "the call was cancelled"
		}
		s.push("ui/notifications/tool-cancelled", map[string]any{"reason": reason})
		return
	}
	raw, err := rawResult(res)
	if err != nil || len(raw) > maxResult {
		s.push("ui/notifications/tool-cancelled", map[string]any{"reason": "the result is too large, or cannot be sent"})
		return
	}
	s.push("ui/notifications/tool-result", raw)
}

// rawResult returns a result as its server sent it, or as it is now.
func rawResult(res *mcp.CallToolResult) (json.RawMessage, error) {
	if raw := res.Raw(); raw != nil {
		return bytes.Clone(raw), nil
	}
	if res.Content == nil {
		shown := *res
		shown.Content = []mcp.Content{}
		res = &shown
	}
	return json.Marshal(res)
}

// End ends the app: its page takes it away after it was told so. The reason is for people. An app that has ended stays so.
func (s *Shown) End(reason string) {
	s.apps.mu.Lock()
	defer s.apps.mu.Unlock()
	if s.ended == "" {
		s.apps.endLocked(s, reason)
	}
}

// admit counts a message of the app, and reports whether it may be sent now.
func (s *Shown) admit() bool {
	s.apps.mu.Lock()
	defer s.apps.mu.Unlock()
	now := time.Now()
	if !s.counted.IsZero() {
		s.left = min(burst, s.left+now.Sub(s.counted).Seconds()*rate)
	}
	if s.counted = now; s.left < 1 || s.ended != "" {
		return false
	}
	s.left--
	return true
}
