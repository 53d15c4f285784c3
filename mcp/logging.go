package mcp

import (
	"context"
	"encoding/json"
)

// A LogMessage is one message that a server logged.
type LogMessage struct {
	// Server is the name of the server, as given to [NewClient].
	Server string
	// Level is the severity.
	Level LoggingLevel
	// Logger is the server's name for what logged it. It may be empty.
	Logger string
	// Data is what was logged, any JSON value: text of an untrusted party.
	Data json.RawMessage
	// Dropped is how many messages before this one were lost because Log was
	// too slow.
	Dropped int
}

// SetLogLevel asks the server for log messages of this severity and above, now
// and on later connections. The empty level asks for none.
func (c *Client) SetLogLevel(ctx context.Context, level LoggingLevel) error { panic("later") }

// logged takes a log message.
func (t *tap) logged(params json.RawMessage) {}
