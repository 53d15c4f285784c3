package cassette

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Replay returns a transport that plays back what [Recorder.Save] wrote to a file. It
// needs no server, process or network. It fails if the file is not a
// recording. Opts may be nil.
//
// A request is answered as the one with the same method and parameters was,
// whatever its _meta, the order of its keys and its secrets: where the recording has
// "[redacted]" any text may stand. If there were several, the first is answered as the first was, and so on over all
// connections. After the last, a handshake, a ping or a list is answered as the
// last was; anything else is an [*UnrecordedError], as is a request that was
// not recorded. What the server sent by itself comes in the same place as then:
// a server request during a call is made again, and an answer that differs from the
// recorded one is an UnrecordedError of the call.
//
// A connection that ended in the recording ends in the same place, and calls
// fail with the same text and outcome. A request that got no answer gets none.
func Replay(file string, opts *Options) (mcp.Transport, error) {
	c, err := readFile(file)
	if err != nil {
		return nil, err
	}
	p := &player{
		file:     file,
		redactor: newRedactor(opts),
		tracks:   c.Tracks,
		equal:    map[string][]*turn{},
		notes:    map[string][]*turn{},
		played:   map[string]int{},
	}
	for _, track := range c.Tracks {
		for _, t := range track.Turns {
			if t.Notification != "" {
				p.notes[t.Notification] = append(p.notes[t.Notification], t)
				continue
			}
			p.requests = append(p.requests, t)
			key := requestKey(t.Request, t.Params)
			if p.equal[key] == nil && strings.Contains(key, redacted) {
				p.redacted = append(p.redacted, key)
			}
			p.equal[key] = append(p.equal[key], t)
		}
	}
	return p, nil
}

// A player is a transport that plays back a recording.
type player struct {
	file     string
	redactor *redactor
	tracks   []*track
	requests []*turn            // all of them
	equal    map[string][]*turn // requests by their key
	redacted []string           // keys of requests with redacted secrets
	notes    map[string][]*turn // notifications by their method

	mu     sync.Mutex     // guards the following
	made   int            // connections
	played map[string]int // requests and notifications, by key and method
}

// Connect implements mcp.Transport. It fails as the recorded one did that comes
// in the same place. After the last, further connections are like the last.
func (p *player) Connect(ctx context.Context) (mcp.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	p.mu.Lock()
	p.made++
	made := p.made
	p.mu.Unlock()
	if len(p.tracks) == 0 {
		return newReplayedConn(p), nil
	}
	t := p.tracks[min(made, len(p.tracks))-1]
	if t.Refused != nil {
		return nil, t.Refused.err()
	}
	c := newReplayedConn(p)
	if made <= len(p.tracks) {
		for _, a := range t.Opening {
			c.perform(a)
		}
	}
	return c, nil
}

// request returns the recorded turn that a request of the client repeats.
func (p *player) request(method string, params json.RawMessage) (*turn, error) {
	if len(params) > 0 {
		if err := jsonscan.Valid(params); err != nil {
			return nil, mcp.WithOutcome(fmt.Errorf("%s: %w", method, err), mcp.NotSent)
		}
		params = canonjson.Without(p.redactor.json(params), "_meta")
	}
	p.mu.Lock()
	key := p.recordedKey(requestKey(method, params))
	equal := p.equal[key]
	n := p.played[key]
	p.played[key]++
	p.mu.Unlock()
	if n < len(equal) {
		return equal[n], nil
	}
	if len(equal) > 0 && repeats(method) {
		return equal[len(equal)-1], nil
	}
	return nil, newUnrecorded(p.file, method, params, len(equal), p.requests)
}

// recordedKey returns the key of the recorded requests that one with a key repeats. Of those that
// differ in redacted secrets alone the first counts that is left. The player is locked.
func (p *player) recordedKey(key string) string {
	if len(p.equal[key]) > 0 {
		return key
	}
	found := key
	for _, recorded := range p.redacted {
		if !matches(recorded, key) {
			continue
		}
		if p.played[recorded] < len(p.equal[recorded]) {
			return recorded
		}
		found = recorded
	}
	return found
}

// note returns the recorded turn that a notification of the client repeats, or
// nil.
func (p *player) note(method string) *turn {
	all := p.notes[method]
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.played[method]
	p.played[method]++
	if n < len(all) {
		return all[n]
	}
	return nil
}

// repeats reports whether a client asks this as often as it likes.
func repeats(method string) bool {
	return strings.HasSuffix(method, "/list") ||
		slices.Contains([]string{"initialize", "server/discover", "ping", "subscriptions/listen", "logging/setLevel"}, method)
}
