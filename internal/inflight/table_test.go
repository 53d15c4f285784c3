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
		if !table.Progress(fmt.Appendf(nil, `{"progressToken":5,"progress":%d}`, i)) {
			t.Fatal("nobody took the progress")
		}
	}
	if table.Progress([]byte(`{"progressToken":6}`)) || table.Progress([]byte(`{"progressToken":"x"}`)) {
		t.Error("progress for a foreign token was taken")
	}
	if !table.Answer(fmt.Appendf(nil, "%d", c.ID), Answer{Result: json.RawMessage(`1`)}) {
		t.Fatal("answer not taken")
	}
	if table.Progress([]byte(`{"progressToken":5}`)) {
		t.Error("progress after the answer was taken")
	}
	var seen []string
	a, err := c.Wait(t.Context(), func(p json.RawMessage) { seen = append(seen, string(p)) })
	if err != nil || string(a.Result) != "1" || len(seen) != 3 || !strings.Contains(seen[2], `"progress":2`) {
		t.Errorf("got %v %q %q", err, a.Result, seen)
	}
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
	if !table.Answer(fmt.Append(nil, c.ID), Answer{}) {
		t.Error("a late answer must be taken, or the session sees it")
	}
}

func TestFailEndsAllAndLaterOnes(t *testing.T) {
	var table Table
	a, b := begin(t, &table, 0), begin(t, &table, 0)
	cause := errors.New("gone")
	table.FailOne(a.ID, errors.New("first"))
	read := errors.New("read")
	table.Fail(read, cause)
	table.Fail(errors.New("second"), nil)
	if _, err := a.Wait(t.Context(), nil); err == nil || err.Error() != "first" {
		t.Errorf("got %v", err)
	}
	if _, err := b.Wait(t.Context(), nil); err != read {
		t.Errorf("got %v", err)
	}
	if _, err := table.Begin(0); err != cause {
		t.Errorf("Begin after Fail: got %v", err)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	var table Table
	c := begin(t, &table, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
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
	if _, err := c.Wait(&hookedContext{Context: ctx}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
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
	if n != maxProgress || !strings.Contains(last, fmt.Sprint(maxProgress+9)) {
		t.Errorf("%d notifications, last %s", n, last)
	}
}

// What waits for a slow callback is bounded in bytes as well.
func TestHugeProgressIsDropped(t *testing.T) {
	var table Table
	c := begin(t, &table, 1)
	for _, size := range []int{maxProgressBytes, maxProgressBytes + 1} {
		params := []byte(`{"progressToken":1,"progress":1,"message":""}`)
		params = append(params[:len(params)-2], strings.Repeat("x", size-len(params))+`"}`...)
		if !table.Progress(params) || len(params) != size {
			t.Errorf("%d bytes: not known", len(params))
		}
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
			if err != nil || string(a.Result) != fmt.Sprint(c.ID) {
				t.Errorf("call %d got %s, %v", c.ID, a.Result, err)
			}
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
	if ids := table.IDs(); len(ids) != 1 || ids[0] != b.ID {
		t.Errorf("got %d, want %d", ids, b.ID)
	}
}
