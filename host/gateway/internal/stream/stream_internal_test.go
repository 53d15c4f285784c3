package stream

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What is taken by a reader that has left is there for the next, and what was never taken is not lost.
func TestResumes(t *testing.T) {
	s := New("x")
	first, _ := s.Attach(-1)
	for _, m := range []string{"0", "1", "2"} {
		s.Put(json.RawMessage(m), false)
	}
	take := func(reader int) string {
		var all string
		for {
			m, _, ok, _ := s.Take(reader)
			if !ok {
				return all
			}
			all += string(m.AppendTo(nil))
		}
	}
	assert.Equal(t, take(first), "012")
	second, ok := s.Attach(0) // in the place of the first
	assert.True(t, ok, "a place in the stream")
	assert.Equal(t, take(first), "", "for the first reader")
	assert.Equal(t, take(second), "012")
	s.Detach(second)
	s.Put(json.RawMessage("3"), false)
	assert.Equal(t, take(second), "", "for a reader that left")
	third, _ := s.Attach(-1)
	assert.Equal(t, take(third), "3")
	_, ok = s.Attach(5)
	assert.False(t, ok, "a place behind the end")
	s.Detach(third)
	s.Detach(third)
}

// Notifications that wait are bounded, answers are not lost.
func TestDrops(t *testing.T) {
	s := New("")
	for range 3 * keptEvents {
		s.Put(json.RawMessage("1"), true)
	}
	s.Put(json.RawMessage("2"), false)
	assert.Equal(t, len(s.events), keptEvents+1, "messages")
	s = New("")
	for range 3 {
		s.Put(make(json.RawMessage, keptBytes), true)
	}
	assert.Equal(t, len(s.events), 1, "messages")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A client that is away is lost when it has not come back for a while.
func TestIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assert.True(t, New("").State().IsLost, "no one reads what cannot be resumed")
		s := New("x")
		time.Sleep(resumeWithin - time.Nanosecond)
		assert.False(t, s.State().IsLost, "no one has come yet")
		time.Sleep(time.Nanosecond)
		assert.True(t, s.State().IsLost, "no one came")
		reader, _ := s.Attach(-1)
		time.Sleep(time.Hour)
		assert.False(t, s.State().IsLost, "there is a reader")
		s.Detach(reader)
		assert.False(t, s.State().IsLost, "it has left just now")
		s.Detach(reader) // once more says nothing new
		time.Sleep(resumeWithin)
		s.Detach(reader)
		assert.True(t, s.State().IsLost, "it did not come back")
	})
}
