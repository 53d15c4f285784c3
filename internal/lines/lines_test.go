package lines_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/lines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestRead(t *testing.T) {
	r := lines.New(strings.NewReader("one\r\n\n" + strings.Repeat("x", lines.Max+1) + "\nlast"))
	for _, want := range []struct {
		line string
		err  error
	}{{"one", nil}, {"", nil}, {"", lines.ErrTooLong}, {"last", nil}, {"", lines.ErrEnded}, {"", lines.ErrEnded}} {
		got, err := r.Read(t.Context(), nil)
		assert.Is(t, err, want.err)
		if err == nil {
			assert.Equal(t, got, want.line)
		}
	}
}

// After Stop nothing reads in, and the next Read gets a line of its own.
func TestStop(t *testing.T) {
	in, keys, err := os.Pipe()
	assert.OK(t, err)
	defer in.Close()
	defer keys.Close()
	r := lines.New(in)
	for range 3 {
		assert.Is(t, assert.Err(r.Read(ended(), nil)), context.Canceled)
		r.Stop()
		r.Stop()
		assert.Value(keys.WriteString("a\n"))(t)
		assert.Equal(t, assert.Value(r.Read(t.Context(), nil))(t), "a")
	}
	assert.Is(t, assert.Err(r.Read(ended(), nil)), context.Canceled)
	r.Close()
	assert.Is(t, assert.Err(r.Read(t.Context(), nil)), lines.ErrEnded)
}

// What cannot be stopped goes on, and its line belongs to no question.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		r := lines.New(in)
		over := make(chan struct{})
		close(over)
		assert.Is(t, assert.Err(r.Read(t.Context(), over)), lines.ErrUntil)
		r.Stop()
		go func() {
			synctest.Wait() // for the next question
			_, _ = io.WriteString(keys, "old\n")
			_, _ = io.WriteString(keys, "new\n")
		}()
		assert.Is(t, assert.Err(r.Read(t.Context(), nil)), lines.ErrStale)
		assert.Equal(t, assert.Value(r.Read(t.Context(), nil))(t), "new")
		_, _ = r.Read(ended(), nil)
		_ = keys.Close()
		synctest.Wait()
		assert.Is(t, assert.Err(r.Read(t.Context(), nil)), lines.ErrEnded)
	})
}
