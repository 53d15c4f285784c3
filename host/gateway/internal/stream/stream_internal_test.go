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
	lost := s.Lost()
	second, ok := s.Attach(0) // in the place of the first
	assert.True(t, ok, "a place in the stream")
	assert.Equal(t, take(first), "", "for the first reader")
	assert.Equal(t, take(second), "012")
	assert.Equal(t, s.Lost(), lost, "the channel, for a reader in the place of another")
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

// A Stream is lost when no reader has come for a while, whenever that is asked.
func TestLost(t *testing.T) {
	for _, test := range []struct {
		name  string
		id    string
		left  time.Duration // before it is asked; negative: no reader was there
		again time.Duration // after which a reader comes; 0: none does
		want  time.Duration // after which it is lost; 0: it is not
	}{
		{"no reader was there", "x", -1, 0, time.Nanosecond},
		{"the reader left", "x", 0, 0, resumeWithin},
		{"the reader left before", "x", 2 * time.Second, 0, resumeWithin - 2*time.Second},
		{"the reader left long ago", "x", time.Minute, 0, time.Nanosecond},
		{"the reader cannot come back", "", 0, 0, time.Nanosecond},
		{"the reader comes back", "x", 0, time.Second, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(test.id)
				if test.left >= 0 {
					reader, _ := s.Attach(-1)
					s.Detach(reader)
					time.Sleep(test.left)
				}
				lost := s.Lost()
				isLost := func() bool {
					synctest.Wait()
					select {
					case <-lost:
						return true
					default:
						return false
					}
				}
				if test.again > 0 {
					time.Sleep(test.again)
					s.Attach(-1)
					time.Sleep(time.Hour)
					assert.False(t, isLost(), "lost with a reader")
					return
				}
				time.Sleep(test.want - time.Nanosecond)
				assert.False(t, isLost() && test.want > time.Nanosecond, "lost before %v", test.want)
				time.Sleep(time.Nanosecond)
				assert.True(t, isLost(), "lost after %v", test.want)
			})
		})
	}
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
