package storagetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A watched is what Watch yields, while the check goes on.
type watched struct {
	*pair
	names chan string
	ended chan error // gets the error that ended it
	stop  context.CancelFunc
}

// watch watches a store, and waits until that has begun.
func (p *pair) watch(s storage.Store, prefix string) *watched {
	p.Helper()
	w, ok := s.(storage.Watcher)
	if !ok {
		p.Skip("the store is no storage.Watcher")
	}
	ctx, stop := context.WithCancel(p.Context())
	out := &watched{pair: p, names: make(chan string), ended: make(chan error, 1), stop: stop}
	go func() {
		var last error
		for name, err := range w.Watch(ctx, prefix) {
			if last != nil {
				last = fmt.Errorf("the watch goes on after an error: %w", last)
				break
			}
			if last = err; err == nil {
				select {
				case out.names <- name:
				case <-ctx.Done():
				}
			}
		}
		out.ended <- last
	}()
	out.expect("")
	return out
}

// expect waits until the record of a name is told to have changed, or all are.
func (w *watched) expect(name string) { w.Helper(); w.expectOnly(name, "") }

// expectOnly waits until the record of a name is told to have changed, or all are, and expects
// no names without the prefix until then.
func (w *watched) expectOnly(name, prefix string) {
	w.Helper()
	ended, err := w.await(func(got string) bool {
		told := got == name || got == ""
		assert.True(w, told || strings.HasPrefix(got, prefix), "Watch of %q yielded %q: fits", prefix, got)
		return told
	})
	if ended {
		w.Fatalf("Watch ended with %v, want the name %q", err, name)
	}
}

// await waits until a name is the one that is awaited, or the watch has ended.
func (w *watched) await(is func(name string) bool) (ended bool, err error) {
	w.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case got := <-w.names:
			if is(got) {
				return false, nil
			}
		case err := <-w.ended:
			w.stop()
			return true, err
		case <-timer.C:
			w.stop()
			<-w.ended
			w.Fatalf("Watch yields no more, and does not end")
		}
	}
}

// end waits until it has ended, and returns how.
func (w *watched) end() error {
	w.Helper()
	_, err := w.await(func(string) bool { return false })
	return err
}

// checkWatch changes records in one store, and watches them in the other.
func checkWatch(p *pair) {
	before := p.save(p.first, "a.old", "one", "")
	w := p.watch(p.second, "a.")
	at := p.save(p.first, "a.new", "one", "")
	w.expect("a.new")
	p.save(p.first, "b", "one", "")
	p.save(p.first, "a.new", "two", at)
	w.expect("a.new")
	assert.OK(p, p.first.Delete(p.Context(), "a.old", before), "Delete")
	w.expect("a.old")
	last := storage.Revision("")
	for i := range 100 { // as one change, or as many
		last = p.save(p.first, "a.last", strconv.Itoa(i), last)
	}
	w.expect("a.last")
	w.stop()
	p.expectError("Watch after the end of its context", w.end(), context.Canceled)
}

// checkWatchPrefix expects no names of other records.
func checkWatchPrefix(p *pair) {
	w := p.watch(p.first, "a.")
	p.save(p.first, "b", "one", "")
	for _, saved := range []string{"a.b", "a.c"} { // what is told with the first is told before the second
		p.save(p.first, saved, "one", "")
		w.expectOnly(saved, "a.")
	}
	w.stop()
	_ = w.end()
	for _, err := range p.first.(storage.Watcher).Watch(p.ended(), "") {
		p.expectError("Watch after the end of the context", err, context.Canceled)
	}
}

func checkWatchClose(p *pair) {
	w := p.watch(p.first, "")
	assert.OK(p, p.first.Close(), "Close")
	p.expectError("Watch after Close", w.end(), storage.ErrClosed)
}
