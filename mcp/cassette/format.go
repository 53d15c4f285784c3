package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// version is the version of the file format. It grows when an older file cannot be read
// any more.
const version = 1

// A recording is what a file holds.
type recording struct{ tracks []*track }

// A track is what passed over one connection.
type track struct {
	refused *failure // why Connect failed; there is nothing else then
	opening []*aside // what the server sent before the client sent anything
	turns   []*turn
}

// A turn is a message that the client sent, with what the server made of it.
type turn struct {
	request bool // or a notification, of which nothing but after follows
	method  string
	params  json.RawMessage // without _meta; nil if there are none
	during  []*aside        // what the server sent before it answered
	after   []*aside        // what it sent after that, before the next turn

	// How the request ended. At most one is set; none if it got no answer.
	result  json.RawMessage
	refusal json.RawMessage // a JSON-RPC error
	failure *failure
}

// The kinds of an aside, as the file names them.
const (
	asideProgress = "progress"     // of a request, without its token
	asideNote     = "notification" // any other notification
	asideAsk      = "request"      // a request of the server
	asideEnd      = "end"          // the connection ended, not by the client
)

// An aside is something that the server did besides answering.
type aside struct {
	kind   string
	method string          // of a notification or a request
	params json.RawMessage // of all but an end
	reason string          // of an end

	// The client's answer to a request; neither is set if there was none.
	result  json.RawMessage
	refusal json.RawMessage
}

// A failure is an error that is no answer of the server.
type failure struct {
	outcome string // as mcp.Outcome prints it
	message string
	kind    string // of the error, if callers ask for it; may be empty
	path    string // of a ProtocolError
	limit   int64  // of a LimitError
}

// The kinds of a failure, as the file names them.
const (
	failureProtocol = "invalid answer"
	failureLimit    = "limit"
	failureSession  = "session lost"
)

func newFailure(err error) *failure {
	f := &failure{outcome: mcp.OutcomeOf(err).String(), message: err.Error()}
	var invalid *mcp.ProtocolError
	var limit *mcp.LimitError
	switch {
	case errors.As(err, &invalid):
		f.kind, f.path, f.message = failureProtocol, invalid.Path, invalid.Err.Error()
	case errors.As(err, &limit):
		f.kind, f.message, f.limit = failureLimit, limit.Limit, limit.Max
	case errors.Is(err, mcp.ErrSessionLost):
		f.kind = failureSession
	}
	return f
}

// err returns an error that reads and classifies as the recorded one.
func (f *failure) err() error {
	switch f.kind {
	case failureProtocol:
		return &mcp.ProtocolError{Path: f.path, Err: errors.New(f.message)}
	case failureLimit:
		return &mcp.LimitError{Limit: f.message, Max: f.limit}
	}
	outcome := mcp.Unknown
	for _, o := range []mcp.Outcome{mcp.NotSent, mcp.Answered} {
		if f.outcome == o.String() {
			outcome = o
		}
	}
	err := &replayedError{text: f.message}
	if f.kind == failureSession {
		err.is = mcp.ErrSessionLost
	}
	return mcp.WithOutcome(err, outcome)
}

// A replayedError has the text of an error that was recorded.
type replayedError struct {
	text string
	is   error // what it wraps; may be nil
}

func (e *replayedError) Error() string { return e.text }
func (e *replayedError) Unwrap() error { return e.is }

// encode returns the file. Equal recordings have equal files.
func (c *recording) encode() ([]byte, error) {
	w := writer{}
	w.open('{')
	w.member("version", fmt.Appendf(nil, "%d", version))
	w.list("connections", len(c.tracks), func(i int) { w.track(c.tracks[i]) })
	w.close('}')
	var out bytes.Buffer
	if err := json.Indent(&out, w.buf, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// A writer writes JSON whose members stand in the order in which they are
// written.
type writer struct{ buf []byte }

func (w *writer) open(bracket byte) {
	w.comma()
	w.buf = append(w.buf, bracket)
}

func (w *writer) close(bracket byte) { w.buf = append(w.buf, bracket) }

func (w *writer) comma() {
	if len(w.buf) == 0 {
		return
	}
	switch w.buf[len(w.buf)-1] {
	case '{', '[', ':', ',':
	default:
		w.buf = append(w.buf, ',')
	}
}

func (w *writer) key(key string) {
	w.comma()
	w.buf = append(append(w.buf, quote(key)...), ':')
}

// member writes a member, unless its value is nil.
func (w *writer) member(key string, value json.RawMessage) {
	if value != nil {
		w.key(key)
		w.buf = append(w.buf, value...)
	}
}

// text writes a member, unless its value is empty.
func (w *writer) text(key, value string) {
	if value != "" {
		w.member(key, quote(value))
	}
}

// list writes a member that is an array, unless it is empty.
func (w *writer) list(key string, n int, element func(i int)) {
	if n == 0 {
		return
	}
	w.key(key)
	w.buf = append(w.buf, '[')
	for i := range n {
		element(i)
	}
	w.close(']')
}

func (w *writer) track(t *track) {
	w.open('{')
	w.failure("refused", t.refused)
	w.asides("opening", t.opening)
	w.list("turns", len(t.turns), func(i int) { w.turn(t.turns[i]) })
	w.close('}')
}

func (w *writer) turn(t *turn) {
	w.open('{')
	kind := asideNote
	if t.request {
		kind = asideAsk
	}
	w.member(kind, quote(t.method))
	w.member("params", t.params)
	w.asides("during", t.during)
	w.member("result", t.result)
	w.member("error", t.refusal)
	w.failure("failure", t.failure)
	w.asides("after", t.after)
	w.close('}')
}

func (w *writer) asides(key string, asides []*aside) {
	w.list(key, len(asides), func(i int) {
		a := asides[i]
		w.open('{')
		switch a.kind {
		case asideProgress:
			w.member(asideProgress, a.params)
		case asideEnd:
			w.member(asideEnd, quote(a.reason))
		default:
			w.member(a.kind, quote(a.method))
			w.member("params", a.params)
			w.member("result", a.result)
			w.member("error", a.refusal)
		}
		w.close('}')
	})
}

func (w *writer) failure(key string, f *failure) {
	if f == nil {
		return
	}
	w.key(key)
	w.open('{')
	w.text("outcome", f.outcome)
	w.text("kind", f.kind)
	w.text("path", f.path)
	w.member("message", quote(f.message))
	if f.kind == failureLimit {
		w.member("limit", fmt.Appendf(nil, "%d", f.limit))
	}
	w.close('}')
}

// quote returns text as a JSON string, with <, > and & as they are.
func quote(text string) json.RawMessage {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
