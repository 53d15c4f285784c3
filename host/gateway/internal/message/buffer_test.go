package message_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// In the place of a line that is too long stands one that is no JSON, and the next is read.
func TestReadLines(t *testing.T) {
	const most = 100_000 // more than fits into the buffer of the reader
	broken := errors.New("broken")
	line := strings.Repeat("a", most-1) + "\n"
	lines, ended := make(chan []byte, 4), make(chan error, 1)
	message.ReadLines(io.MultiReader(strings.NewReader(line+"a"+line+"b"), iotest.ErrReader(broken)), most, lines, ended, nil)
	for _, want := range []string{line, "\x00", "b"} {
		assert.Equal(t, string(<-lines), want)
	}
	assert.Equal(t, <-ended, broken)
	message.ReadLines(strings.NewReader(""), most, lines, ended, nil)
	assert.Equal(t, <-ended, nil)
	over := make(chan struct{})
	close(over)
	message.ReadLines(strings.NewReader("a"), most, nil, ended, over)
	assert.Equal(t, len(ended), 0, "reasons of the end after over")
}
