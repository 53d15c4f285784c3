package faces

import (
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errOver, errLacking = errors.New("over"), errors.New("lacking")

// A full connection has all faces.
type full struct{ mcp.Connection }

func (full) Err() error          { return errOver }
func (full) PID() int            { return 7 }
func (full) Degraded() error     { return errLacking }
func (full) Working() bool       { return true }
func (full) Stateless() bool     { return true }
func (full) Announced() int64    { return 8 }
func (full) LateProgress() int64 { return 9 }
func (full) Origin() string      { return "https://example.com" }

// plain has none.
type plain struct{ mcp.Connection }

// told is what a connection tells.
type told struct {
	err, lacks         error
	pid                int
	working, stateless bool
	announced, late    int64
	origin             string
}

func ask(c Conn) told {
	return told{c.Err(), c.Degraded(), c.PID(), c.Working(), c.Stateless(), c.Announced(), c.LateProgress(), c.Origin()}
}

func TestConn(t *testing.T) {
	if got, want := ask(Conn{full{}}), (told{errOver, errLacking, 7, true, true, 8, 9, "https://example.com"}); got != want {
		t.Errorf("before one with all faces: %+v", got)
	}
	if got, want := ask(Conn{plain{}}), (told{announced: -1}); got != want {
		t.Errorf("before one with none: %+v", got)
	}
	if got, want := ask(Conn{Conn{plain{}}}), (told{announced: -1}); got != want {
		t.Errorf("before one before one: %+v", got)
	}
}
