package cassette

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// version is the version of the file format. It grows when an older file cannot be read
// any more.
const version = 1

// A recording is what a file holds.
type recording struct {
	Version int      `json:"version"`
	Tracks  []*track `json:"connections,omitempty"`
}

// A track is what passed over one connection.
type track struct {
	Refused *failure `json:"refused,omitempty"` // why Connect failed; there is nothing else then
	Opening []*aside `json:"opening,omitempty"` // what the server sent before the client sent anything
	Turns   []*turn  `json:"turns,omitempty"`
}

// A turn is a message that the client sent, with what the server made of it.
type turn struct {
	Request      string          `json:"request,omitempty"`      // the method
	Notification string          `json:"notification,omitempty"` // the same, of which nothing but After follows
	Params       json.RawMessage `json:"params,omitempty"`       // without _meta
	During       []*aside        `json:"during,omitempty"`       // what the server sent before it answered

	// How the request ended. At most one is set; none if it got no answer.
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"` // a JSON-RPC error
	Failure *failure        `json:"failure,omitempty"`

	After []*aside `json:"after,omitempty"` // what the server sent after that, before the next turn
}

// An aside is something that the server did besides answering: the first four are its kinds.
type aside struct {
	Progress     json.RawMessage `json:"progress,omitempty"`     // of a request, without its token
	Notification string          `json:"notification,omitempty"` // any other, by its method
	Request      string          `json:"request,omitempty"`      // of the server, by its method
	End          *string         `json:"end,omitempty"`          // why the connection ended, not by the client

	Params json.RawMessage `json:"params,omitempty"`

	// The client's answer to a request; neither is set if there was none.
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// A failure is an error that is no answer of the server.
type failure struct {
	Outcome string `json:"outcome"`        // as mcp.Outcome prints it
	Kind    string `json:"kind,omitempty"` // of the error, if callers ask for it
	Path    string `json:"path,omitempty"` // of a ProtocolError
	Message string `json:"message"`
	Limit   int64  `json:"limit,omitempty"` // of a LimitError
}

// The kinds of a failure, as the file names them.
const (
	failureProtocol = "invalid answer"
	failureLimit    = "limit"
	failureSession  = "session lost"
)

func newFailure(err error) *failure {
	f := &failure{Outcome: mcp.OutcomeOf(err).String(), Message: err.Error()}
	var invalid *mcp.ProtocolError
	var limit *mcp.LimitError
	switch {
	case errors.As(err, &invalid):
		f.Kind, f.Path, f.Message = failureProtocol, invalid.Path, invalid.Err.Error()
	case errors.As(err, &limit):
		f.Kind, f.Message, f.Limit = failureLimit, limit.Limit, limit.Max
	case errors.Is(err, mcp.ErrSessionLost):
		f.Kind = failureSession
	}
	return f
}

// err returns an error that reads and classifies as the recorded one.
func (f *failure) err() error {
	switch f.Kind {
	case failureProtocol:
		return &mcp.ProtocolError{Path: f.Path, Err: errors.New(f.Message)}
	case failureLimit:
		return &mcp.LimitError{Limit: f.Message, Max: f.Limit}
	}
	outcome := mcp.Unknown
	for _, o := range []mcp.Outcome{mcp.NotSent, mcp.Answered} {
		if f.Outcome == o.String() {
			outcome = o
		}
	}
	err := &replayedError{text: f.Message}
	if f.Kind == failureSession {
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
	return canonjson.MarshalLines(c)
}

// A fileError reports a file that cannot be replayed.
type fileError struct {
	file string // as given to [Replay]
	line int    // counted from 1; zero if it is not known
	err  error  // what is wrong
}

func (e *fileError) Error() string {
	where := e.file
	if e.line > 0 {
		where = fmt.Sprintf("%s:%d", e.file, e.line)
	}
	return fmt.Sprintf("cassette: %s: %v", where, e.err)
}

func (e *fileError) Unwrap() error { return e.err }

// maxFile bounds a recording, in bytes.
const maxFile = 256 << 20

// readFile reads a file, which says what servers answer: none but its user may change it. The error, if any, is a [*fileError].
func readFile(file string) (*recording, error) {
	data, err := ownfile.Read(file, maxFile, ownfile.Committed)
	if err != nil {
		return nil, &fileError{file: file, err: err}
	}
	return parse(file, data)
}

func parse(file string, data []byte) (*recording, error) {
	at := func(offset int64, err error) error {
		return &fileError{file, 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n")), err}
	}
	var syntax *jsonscan.SyntaxError
	if err := jsonscan.Valid(data); errors.As(err, &syntax) {
		return nil, at(int64(syntax.Offset), err)
	}
	var of struct{ Version json.RawMessage }
	if err := json.Unmarshal(data, &of); err != nil || string(of.Version) != fmt.Sprint(version) { // before keys that only another version knows
		return nil, &fileError{file: file, err: fmt.Errorf("the version is not %d, the only one that can be read: this is no recording, or has to be made again", version)}
	}
	c := &recording{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(c)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, at(wrong.Offset, fmt.Errorf("%s must not be a JSON %s", wrong.Field, wrong.Value))
	}
	if err != nil {
		return nil, at(d.InputOffset(), err)
	}
	var compact bytes.Buffer // answers were without white space
	if c = new(recording); json.Compact(&compact, data) == nil {
		err = json.Unmarshal(compact.Bytes(), c)
	}
	for i, t := range c.Tracks {
		if err := t.check(); err != nil {
			return nil, &fileError{file: file, err: fmt.Errorf("connections[%d]: %w", i, err)}
		}
	}
	return c, err
}

func (t *track) check() error {
	if t == nil {
		return errors.New("is null")
	}
	err := cmp.Or(t.Refused.check(), checkAsides(t.Opening))
	for i, turn := range t.Turns {
		if wrong := turn.check(); wrong != nil && err == nil {
			err = fmt.Errorf("turns[%d]: %w", i, wrong)
		}
	}
	return err
}

func (t *turn) check() error {
	switch {
	case t == nil || count(t.Request != "", t.Notification != "") != 1:
		return errors.New("must be a request or a notification")
	case count(t.Result != nil, t.Error != nil, t.Failure != nil) > 1:
		return errors.New("ends in more than one way")
	case t.Notification != "" && count(t.Result != nil, t.Error != nil, t.Failure != nil) > 0:
		return errors.New("is a notification, which has no answer")
	}
	return cmp.Or(checkRefusal(t.Error), t.Failure.check(), checkAsides(t.During), checkAsides(t.After))
}

func checkAsides(asides []*aside) error {
	for _, a := range asides {
		if a == nil || count(a.Progress != nil, a.Notification != "", a.Request != "", a.End != nil) != 1 || count(a.Result != nil, a.Error != nil) > 1 {
			return errors.New("what the server sends is one of progress, notification, request and end")
		}
		if err := checkRefusal(a.Error); err != nil {
			return err
		}
	}
	return nil
}

func checkRefusal(raw json.RawMessage) error {
	var refused mcp.JSONRPCError
	if raw != nil && (raw[0] != '{' || json.Unmarshal(raw, &refused) != nil) {
		return errors.New("error must be a JSON-RPC error with code and message")
	}
	return nil
}

func (f *failure) check() error {
	switch {
	case f == nil:
		return nil
	case !slices.Contains([]string{mcp.Unknown.String(), mcp.NotSent.String(), mcp.Answered.String()}, f.Outcome):
		return fmt.Errorf("outcome %q is not known", f.Outcome)
	case !slices.Contains([]string{"", failureProtocol, failureLimit, failureSession}, f.Kind):
		return fmt.Errorf("kind %q is not known", f.Kind)
	}
	return nil
}

// count returns how many of the conditions hold.
func count(conditions ...bool) (n int) {
	for _, holds := range conditions {
		if holds {
			n++
		}
	}
	return n
}
