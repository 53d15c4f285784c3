package inflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func begin(t *testing.T, table *Table, token int64) *Call {
	t.Helper()
	c := assert.Value(table.Begin(token))(t)
	t.Cleanup(c.Drop)
	return c
}

func TestProgressComesBeforeTheAnswer(t *testing.T) {
	var table Table
	c := begin(t, &table, 5)
	for i := range 3 {
		assert.True(t, table.Progress(fmt.Appendf(nil, `{"progressToken":5,"progress":%d}`, i)), "progress: taken")
	}
	assert.False(t, table.Progress([]byte(`{"progressToken":6}`)), "progress for a foreign token is taken")
	assert.False(t, table.Progress([]byte(`{"progressToken":"x"}`)), "progress for a foreign token is taken")
	assert.True(t, table.Answer(fmt.Append(nil, c.ID), Answer{Result: json.RawMessage(`1`)}), "answer: taken")
	assert.False(t, table.Progress([]byte(`{"progressToken":5}`)), "progress after the answer: taken")
	var seen []string
	a, err := c.Wait(t.Context(), func(p json.RawMessage) { seen = append(seen, string(p)) })
	assert.OK(t, err)
	assert.True(t, string(a.Result) == "1" && len(seen) == 3 && strings.Contains(seen[2], `"progress":2`), "%q %q", a.Result, seen)
}

func TestAnswerKnowsItsIDs(t *testing.T) {
	var table Table
	c := begin(t, &table, 0)
	for id, want := range map[string]bool{
		"1": false, `"abc"`: false, "null": false, "1000000001": false,
		fmt.Sprint(c.ID): true, fmt.Sprintf(`"%d"`, c.ID): true,
	} {
		assert.Equal(t, table.Answer([]byte(id), Answer{}), want, "id %s: taken", id)
	}
	c.Drop()
	assert.True(t, table.Answer(fmt.Append(nil, c.ID), Answer{}), "a late answer must be taken, or the session sees it")
}

func TestFailEndsAllAndLaterOnes(t *testing.T) {
	var table Table
	a, b := begin(t, &table, 0), begin(t, &table, 0)
	cause := errors.New("gone")
	table.FailOne(a.ID, errors.New("first"))
	read := errors.New("read")
	table.Fail(read, cause)
	table.Fail(errors.New("second"), nil)
	assert.Equal(t, fmt.Sprint(assert.Err(a.Wait(t.Context(), nil))), "first")
	assert.Equal(t, assert.Err(b.Wait(t.Context(), nil)), read)
	assert.Equal(t, assert.Err(table.Begin(0)), cause, "Begin after Fail")
}

func TestWaitEndsWithContext(t *testing.T) {
	var table Table
	c := begin(t, &table, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, assert.Err(c.Wait(ctx, nil)), context.Canceled)
}

// A hookedContext is Hooked, and its caller's context never ends.
type hookedContext struct {
	context.Context
	stop func() bool
}

func (h *hookedContext) Hook(f func()) context.Context {
	h.stop = context.AfterFunc(h.Context, f)
	return context.Background()
}

func (h *hookedContext) Unhook() { h.stop() }

func TestWaitEndsWithHookedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var table Table
	c := begin(t, &table, 0)
	go cancel()
	assert.Is(t, assert.Err(c.Wait(&hookedContext{Context: ctx}, nil)), context.Canceled)
}

func TestSlowCallbackKeepsTheNewestProgress(t *testing.T) {
	var table Table
	c := begin(t, &table, 1)
	for i := range maxProgress + 10 {
		table.Progress(fmt.Appendf(nil, `{"progressToken":1,"progress":%d}`, i))
	}
	table.Answer(fmt.Append(nil, c.ID), Answer{Result: []byte("1")})
	n, last := 0, ""
	_, _ = c.Wait(t.Context(), func(p json.RawMessage) { n++; last = string(p) })
	assert.Equal(t, n, maxProgress, "notifications")
	assert.Contains(t, last, fmt.Sprint(maxProgress+9), "the last")
}

// What waits for a slow callback is bounded in bytes as well.
func TestHugeProgressIsDropped(t *testing.T) {
	var table Table
	c := begin(t, &table, 1)
	for _, size := range []int{maxProgressBytes, maxProgressBytes + 1} {
		params := []byte(`{"progressToken":1,"progress":1,"message":""}`)
		params = append(params[:len(params)-2], strings.Repeat("x", size-len(params))+`"}`...)
		assert.True(t, table.Progress(params) && len(params) == size, "%d bytes: known", len(params))
	}
	table.Answer(fmt.Append(nil, c.ID), Answer{Result: []byte("1")})
	n := 0
	_, _ = c.Wait(t.Context(), func(json.RawMessage) { n++ })
	assert.Equal(t, n, 1, "notifications")
}

func TestConcurrentCallsGetTheirOwnAnswers(t *testing.T) {
	var table Table
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			c, err := table.Begin(0)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Drop()
			go table.Answer(fmt.Append(nil, c.ID), Answer{Result: fmt.Append(nil, c.ID)})
			a, err := c.Wait(t.Context(), nil)
			assert.True(t, err == nil && string(a.Result) == fmt.Sprint(c.ID), "call %d got %s, %v", c.ID, a.Result, err)
		})
	}
	wg.Wait()
	assert.Equal(t, len(table.calls), 0, "calls left in the table")
}

func TestAnswerReadsIDs(t *testing.T) {
	for id, ours := range map[string]bool{
		"1000000000": true, `"1000000000"`: true, "1000000000.0": true, "1e9": true, "1E+9": true,
		"1000000001": false, "999999999": false, "1000000000.5": false, "null": false, `"x"`: false, "1e400": false, "[]": false, "": false,
	} {
		var table Table
		begin(t, &table, 0)
		assert.Equal(t, table.Answer([]byte(id), Answer{Result: []byte("1")}), ours, "%s: taken", id)
	}
}

func TestIDs(t *testing.T) {
	var table Table
	a, b := begin(t, &table, 0), begin(t, &table, 0)
	a.Drop()
	assert.Equal(t, fmt.Sprint(table.IDs()), fmt.Sprint([]int64{b.ID}))
}
