package adaptertest

import (
	"context"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func (k *kit) cancel() {
	ctx, cancel := context.WithTimeout(k.Context(), patience)
	defer cancel()
	k.interrupt(ctx, cancel, context.Canceled)
}

func (k *kit) deadline() {
	ctx := &lapse{Context: k.Context(), done: make(chan struct{})}
	k.interrupt(ctx, func() { close(ctx.done) }, context.DeadlineExceeded)
}

// A lapse is a context whose deadline comes when the test says.
type lapse struct {
	context.Context
	done chan struct{}
}

func (l *lapse) Done() <-chan struct{} { return l.done }

func (l *lapse) Err() error {
	select {
	case <-l.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// interrupt ends the context of a turn while the tool runs.
func (k *kit) interrupt(ctx context.Context, end func(), want1 error) {
	k.Helper()
	k.model.Then(k.calls(want{"wait", `{}`}))
	over := make(chan error, 1)
	go func() {
		_, err := k.agent.Ask(ctx, "wait")
		over <- err
	}()
	within(k, k.belt.began, "the tool to run")
	end()
	within(k, k.belt.ended, "the tool to be told")
	assert.Is(k, within(k, over, "the turn to end"), want1, "the turn ended")
}

// within waits for a value.
func within[T any](k *kit, c <-chan T, what string) (v T) {
	k.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		k.Fatalf("waited in vain for %s; the model refused: %q", what, k.model.Refused())
	}
	return v
}

// afterwards has the user go on with a conversation in which a call was cancelled.
func (k *kit) afterwards() {
	k.cancel()
	k.contains(k.one("again", "echo", `{"text":"x"}`), "echoed")
	k.ran("wait", 1)
}
