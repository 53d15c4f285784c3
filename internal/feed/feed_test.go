package feed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
	assert.Equal(t, fmt.Sprintf("%q", got), `["" "b" "a" "c"]`)
	assert.Is(t, last, over)
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		assert.OK(t, feed.Sleep(t.Context(), time.Second))
		assert.Equal(t, time.Since(began), time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Is(t, feed.Sleep(ctx, time.Minute), context.DeadlineExceeded)
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
