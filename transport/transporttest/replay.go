package transporttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Replay returns a transport that plays back what [Record] has written to a file.
// See [Cassette.Replay].
func Replay(file string) mcp.Transport { return Cassette{File: file}.Replay() }

// Replay returns a transport that plays back what [Cassette.Record] has written.
// It needs no server, process or network. Its first Connect reads the file, and
// returns a [*CassetteError] if that is not a recording.
//
// A request is answered as the one with the same method and parameters was,
// whatever its _meta, the order of its keys and its secrets. If there were
// several, the first is answered as the first was, and so on over all
// connections. After the last, a handshake, a ping or a list is answered as the
// last was; anything else is an [*UnrecordedError], as is a request that was
// not recorded. What the server sent by itself comes in the same place as then:
// a question during a call is asked again, and answers that differ from the
// recorded are an UnrecordedError of the call.
//
// A connection that ended in the recording ends in the same place, and calls
// fail with the same text and outcome. A request that got no answer gets none.
func (c Cassette) Replay() mcp.Transport {
	p := &player{file: c.File, redactor: &redactor{c.Redact}}
	p.load = sync.OnceValue(p.read)
	return p
}

// A player is a transport that plays back a cassette.
type player struct {
	file     string
	redactor *redactor
	load     func() error // reads the cassette, once

	// Set by load.
	tracks   []*track
	requests []*turn            // all of them
	equal    map[string][]*turn // requests by their key
	notes    map[string][]*turn // notifications by their method

	mu     sync.Mutex     // guards the following
	made   int            // connections
	played map[string]int // requests and notifications, by key and method
}

func (p *player) read() error {
	c, err := readCassette(p.file)
	if err != nil {
		return err
	}
	p.tracks = c.tracks
	p.equal, p.notes, p.played = map[string][]*turn{}, map[string][]*turn{}, map[string]int{}
	for _, track := range c.tracks {
		for _, t := range track.turns {
			if !t.request {
				p.notes[t.method] = append(p.notes[t.method], t)
				continue
			}
			p.requests = append(p.requests, t)
			key := requestKey(t.method, t.params)
			p.equal[key] = append(p.equal[key], t)
		}
	}
	return nil
}

// Connect implements mcp.Transport. It fails as the recorded one did that comes
// in the same place. After the last, further connections are like the last.
func (p *player) Connect(ctx context.Context) (mcp.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.made++
	made := p.made
	p.mu.Unlock()
	if len(p.tracks) == 0 {
		return newReplayedConn(p), nil
	}
	t := p.tracks[min(made, len(p.tracks))-1]
	if t.refused != nil {
		return nil, t.refused.err()
	}
	c := newReplayedConn(p)
	if made <= len(p.tracks) {
		for _, a := range t.opening {
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
		params = without(p.redactor.json(params), "_meta")
	}
	key := requestKey(method, params)
	equal := p.equal[key]
	p.mu.Lock()
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
	switch method {
	case "initialize", "server/discover", "ping", "subscriptions/listen", "logging/setLevel":
		return true
	}
	return strings.HasSuffix(method, "/list")
}
