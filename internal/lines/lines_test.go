package lines_test

import (
	"context"
	"errors"
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
		if err != want.err || err == nil && got != want.line {
			t.Errorf("%.20q, %v, want %q, %v", got, err, want.line, want.err)
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
		if _, err := r.Read(ended(), nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		r.Stop()
		r.Stop()
		assert.Value(keys.WriteString("a\n"))(t)
		if got, err := r.Read(t.Context(), nil); got != "a" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	_, err = r.Read(ended(), nil)
	assert.Is(t, err, context.Canceled)
	r.Close()
	if _, err := r.Read(t.Context(), nil); err != lines.ErrEnded {
		t.Errorf("error %v", err)
	}
}

// What cannot be stopped goes on, and its line is nobody's.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		r := lines.New(in)
		over := make(chan struct{})
		close(over)
		if _, err := r.Read(t.Context(), over); err != lines.ErrUntil {
			t.Errorf("error %v", err)
		}
		r.Stop()
		go func() {
			synctest.Wait() // for the next question
			_, _ = io.WriteString(keys, "old\n")
			_, _ = io.WriteString(keys, "new\n")
		}()
		if _, err := r.Read(t.Context(), nil); err != lines.ErrStale {
			t.Errorf("error %v", err)
		}
		if got, err := r.Read(t.Context(), nil); got != "new" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_, _ = r.Read(ended(), nil)
		_ = keys.Close()
		synctest.Wait()
		if _, err := r.Read(t.Context(), nil); err != lines.ErrEnded {
			t.Errorf("error %v", err)
		}
	})
}
