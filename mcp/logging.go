package mcp

// Revision 2026-07-28 calls logging deprecated. Servers of all revisions use it still.
//lint:file-ignore SA1019 see above

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// leastLog is the level of which the least is logged.
const leastLog LoggingLevel = "emergency"

// slogLevels says what slog calls the severities of RFC 5424.
var slogLevels = map[LoggingLevel]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo + 2, "warning": slog.LevelWarn,
	"error": slog.LevelError, "critical": slog.LevelError + 2, "alert": slog.LevelError + 4, leastLog: slog.LevelError + 6,
}

// A LogMessage is one message that a server logged.
//
// Deprecated: Protocol revision 2026-07-28 deprecates logging (SEP-2577). It works with
// older servers, and with newer ones that still use it.
type LogMessage struct {
	// Server is the name of the server, as given to [NewClient].
	Server string
	// Level is the severity, as the server calls it.
	Level LoggingLevel
	// Logger is the server's name for what logged it. It may be empty.
	Logger string
	// Data is what was logged, any JSON value: text of an untrusted party.
	Data json.RawMessage
	// Raw are the parameters of the notification as the server wrote them.
	Raw json.RawMessage
	// Dropped is how many messages before this one were lost because Log was
	// too slow.
	Dropped int
}

// validLevel says what is wrong with a level that is none.
func validLevel(level LoggingLevel) error {
	if _, ok := slogLevels[level]; ok {
		return nil
	}
	return fmt.Errorf("%q is no log level: it is one of debug, info, notice, warning, error, critical, alert, emergency", level)
}

type logKey struct{}

// WithLog has fn receive the log messages that servers send in the course of calls and other
// requests under the returned context, before these return, and in order. [ClientOptions].Log
// gets them as well. Which request a log message belongs to is known as it is for an
// [ElicitRequest]. Fn must not wait, since it is called by the reader of the connection.
//
// Deprecated: Protocol revision 2026-07-28 deprecates logging (SEP-2577). It works with
// older servers, and with newer ones that still use it.
func WithLog(ctx context.Context, fn func(*LogMessage)) context.Context {
	return context.WithValue(ctx, logKey{}, fn)
}

const (
	// maxLogs bounds the log messages that wait for a slow handler, and maxLogBytes what they
	// hold; the last one always has room.
	maxLogs     = 256
	maxLogBytes = 4 << 20
)

// A logQueue holds log messages on their way to the handler. If there are too many the oldest
// are dropped, and the next one says how many.
type logQueue struct {
	mu      sync.Mutex // guards the following
	waiting []*LogMessage
	bytes   int
	dropped int
	running bool // there is a goroutine that hands them on
}

// add reports whether a goroutine must be started that hands the messages on.
func (q *logQueue) add(m *LogMessage) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && (len(q.waiting) == maxLogs || q.bytes+len(m.Raw) > maxLogBytes) {
		q.dropped++
		q.takeLocked()
	}
	q.waiting = append(q.waiting, m)
	q.bytes += len(m.Raw)
	start := !q.running
	q.running = true
	return start
}

func (q *logQueue) takeLocked() *LogMessage {
	m := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	q.bytes -= len(m.Raw)
	return m
}

// stop drops what is left.
func (q *logQueue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.bytes, q.running = nil, 0, false
}

// next returns the next message, or nil, after which there must be no goroutine.
func (q *logQueue) next() *LogMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running = len(q.waiting) > 0; !q.running {
		q.waiting = nil
		return nil
	}
	m := q.takeLocked()
	m.Dropped, q.dropped = q.dropped, 0
	return m
}

// harmless returns a JSON value as text that can be shown, on one line. Of a string it is the
// contents.
func harmless(data []byte) string {
	text, ok := jsonscan.String(data)
	if !ok {
		text = string(data)
	}
	return plain.Line(text)
}

func decodeLogMessage(params json.RawMessage) (*LogMessage, error) {
	m := &LogMessage{Raw: bytes.Clone(params)} // or the whole message would be kept
	err := decodeObject(m.Raw,
		field{name: "level", into: (*string)(&m.Level), need: true},
		field{name: "logger", into: &m.Logger},
		field{name: "data", into: func(value []byte) error {
			m.Data = value
			return nil
		}},
	)
	if err == nil && m.Data == nil {
		err = at("data", errMissing)
	}
	return decoded(m, err)
}
