package feed_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChanges(t *testing.T) {
	over := errors.New("over")
	lists := []map[string]int{{"a": 1, "b": 1}, {"a": 1, "b": 2}, nil, {"b": 2, "c": 0}, {"b": 2, "c": 0}}
	next := 0
	list := func(context.Context) (map[string]int, error) {
		if next == len(lists) {
			return nil, over
		}
		next++
		return lists[next-1], nil
	}
	var got []string
	var last error
	for name, err := range feed.Changes(t.Context(), list, func(context.Context) error { return nil }) {
		if err != nil {
			last = err
			break
		}
		got = append(got, name)
	}
	if len(got) == 4 {
		slices.Sort(got[2:])
	}
	if want := []string{"", "b", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(last, over) {
		t.Errorf("got the error %v, want %v", last, over)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := feed.Sleep(t.Context(), time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want nil after a second", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := feed.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

func TestBell(t *testing.T) {
	var b feed.Bell
	b.Ring() // for no one
	first, second := b.Rung(), b.Rung()
	b.Ring()
	<-first
	<-second
	select {
	case <-b.Rung():
		t.Error("got a bell that rings on, want one that was rung once")
	default:
	}
}
