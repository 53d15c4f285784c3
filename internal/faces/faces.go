// Package faces passes the optional methods of a connection through one that wraps it.
package faces

import "github.com/modelcontextprotocol/go-sdk/mcp"

// A Conn is embedded by a connection that wraps another. It has each optional method
// that a client looks for. Where the wrapped connection lacks one, Conn returns what a
// client assumes without it. It is not a Caller: the type that embeds it says whether
// it is one.
type Conn struct{ mcp.Connection }

// Err returns why the connection ended, or nil.
func (c Conn) Err() error {
	if known, ok := c.Connection.(interface{ Err() error }); ok {
		return known.Err()
	}
	return nil
}

// PID returns the id of the server's process, or zero.
func (c Conn) PID() int {
	if known, ok := c.Connection.(interface{ PID() int }); ok {
		return known.PID()
	}
	return 0
}

// Degraded returns what the connection lacks, or nil.
func (c Conn) Degraded() error {
	if known, ok := c.Connection.(interface{ Degraded() error }); ok {
		return known.Degraded()
	}
	return nil
}

// Working reports whether the server is known to have been at work.
func (c Conn) Working() bool {
	known, ok := c.Connection.(interface{ Working() bool })
	return ok && known.Working()
}

// Stateless reports whether nothing is lost with the connection.
func (c Conn) Stateless() bool {
	known, ok := c.Connection.(interface{ Stateless() bool })
	return ok && known.Stateless()
}

// Announced returns how many notifications of changed tools came before the last answer, or
// less than zero: as many as were read.
func (c Conn) Announced() int64 {
	if known, ok := c.Connection.(interface{ Announced() int64 }); ok {
		return known.Announced()
	}
	return -1
}

// LateProgress returns how much progress came before the last answer, and went to Read.
func (c Conn) LateProgress() int64 {
	if known, ok := c.Connection.(interface{ LateProgress() int64 }); ok {
		return known.LateProgress()
	}
	return 0
}

// Origin returns the scheme, host and port of a server reached by HTTP, or nothing.
func (c Conn) Origin() string {
	if known, ok := c.Connection.(interface{ Origin() string }); ok {
		return known.Origin()
	}
	return ""
}
