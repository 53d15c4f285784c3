package main

import (
	"context"
	"errors"
	"testing"
)

func TestMeasure(t *testing.T) {
	const size = 1 << 20
	var kept []byte
	c, err := measure(func() (int, error) {
		kept = make([]byte, size)
		return len(kept) / size * 3, nil
	})
	if err != nil || c.Calls != 3 || c.Mallocs < 1 || c.Bytes < size || c.Elapsed <= 0 {
		t.Errorf("measured %+v, %v", c, err)
	}
	broken := errors.New("broken")
	if _, err := measure(func() (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// A scripted session fails the calls of one caller and lists what it is told.
type scripted struct {
	fails call
	tools int
	calls chan<- string
}

var errScript = errors.New("as told")

func (s scripted) Call(_ context.Context, c *call) error {
	s.calls <- "call"
	if c.text == s.fails.text {
		return errScript
	}
	return nil
}

func (s scripted) List(context.Context) (int, error) {
	s.calls <- "list"
	return s.tools, nil
}

func (s scripted) Close() error {
	s.calls <- "close"
	return nil
}

func TestOneFailureOfManyIsSeen(t *testing.T) {
	calls := make(chan string, manyCallers)
	n, err := callFor(t.Context(), scripted{fails: echo(9), calls: calls}, work{callers: manyCallers}, 0)
	if !errors.Is(err, errScript) || n != manyCallers-1 || len(calls) != manyCallers {
		t.Errorf("%d calls were made, %d answered, %v", len(calls), n, err)
	}
}

// TestListOnce sees that each listing has a connection of its own, closed after
// it, and that a list of the wrong length is an error.
func TestListOnce(t *testing.T) {
	for tools, fine := range map[int]bool{toolCount: true, toolCount - 1: false} {
		calls := make(chan string, 4)
		dial := func() (session, error) {
			calls <- "dial"
			return scripted{tools: tools, calls: calls}, nil
		}
		c, err := dialFor(0, func() (cell, error) { return listOnce(t.Context(), dial) })
		if (err == nil) != fine || fine && c.Calls != 1 {
			t.Errorf("%d tools: %d lists, %v", tools, c.Calls, err)
		}
		close(calls)
		var order string
		for step := range calls {
			order += step + " "
		}
		if order != "dial call list close " {
			t.Errorf("%d tools: steps %s", tools, order)
		}
	}
}
