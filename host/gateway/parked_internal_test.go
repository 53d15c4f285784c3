package gateway

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
)

// A job belongs to user and credential, and without a user its credential bounds it.
func TestParkedOfCredential(t *testing.T) {
	g := &Gateway{jobs: parkedJobs{byID: map[string]*job{}, users: map[string]int{}}}
	of := func(user, credential string) *peer {
		return &peer{caller: &access.Caller{User: user, Credential: credential}}
	}
	for range maxParkedOf {
		j := &job{id: newID(), peer: of("", "key 1"), done: make(chan struct{})}
		if !g.park(j, 0) {
			t.Fatal("got a refusal, want room")
		}
	}
	j := &job{id: newID(), peer: of("", "key 1"), done: make(chan struct{})}
	if g.park(j, 0) {
		t.Error("got room for one credential without end, want a refusal")
	}
	j.peer = of("a", "key 2")
	if !g.park(j, 0) {
		t.Error("got a refusal of another credential, want room")
	}
	for _, other := range []*peer{of("a", "key 1"), of("b", "key 2"), of("a", ""), of("", "key 2")} {
		if g.parked(other, j.id) != nil {
			t.Errorf("got the job for %+v, want it for its own caller", other.caller)
		}
	}
	if g.parked(of("a", "key 2"), j.id) != j {
		t.Error("got no job for its own caller, want it")
	}
}

// Jobs that wait to be asked for are bounded: all, those of one user, and their results.
func TestParkedBounds(t *testing.T) {
	g := &Gateway{jobs: parkedJobs{byID: map[string]*job{}, users: map[string]int{}}}
	add := func(user string, size int, ended time.Time) (*job, bool) {
		j := &job{id: newID(), peer: &peer{caller: &access.Caller{User: user}}, done: make(chan struct{}), result: make(json.RawMessage, size), ended: ended, keep: time.Minute}
		close(j.done)
		return j, g.park(j, 0)
	}
	began := time.Now()
	for range maxParkedOf {
		if _, ok := add("a", 1, began); !ok {
			t.Fatal("got a refusal, want room")
		}
	}
	if _, ok := add("a", 1, began); ok {
		t.Errorf("got room for one user without end, want a refusal")
	}
	old, ok := add("b", maxParkedBytes/2, began.Add(-time.Second))
	if !ok {
		t.Errorf("got a refusal of another user, want room")
	}
	if g.parked(old.peer, old.id) == nil || g.parked(old.peer, old.id) != nil && g.parked(&peer{caller: &access.Caller{User: "c"}}, old.id) != nil {
		t.Errorf("got the job for others, or not for its own peer, want it for its peer alone")
	}
	for i := range 2 {
		add("b", maxParkedBytes/2, began.Add(time.Duration(i)*time.Second))
	}
	if g.jobs.byID[old.id] != nil {
		t.Errorf("got the oldest result kept, want it forgotten")
	}
	if g.jobs.bytes > maxParkedBytes {
		t.Errorf("got %d bytes kept, want at most %d", g.jobs.bytes, maxParkedBytes)
	}
	for range 2 * maxParked {
		add("", 0, began)
	}
	if got := len(g.jobs.byID); got != maxParked {
		t.Errorf("got %d jobs, want %d", got, maxParked)
	}
	g.sweepAt(began.Add(time.Hour))
	if len(g.jobs.byID) != 0 || len(g.jobs.users) != 0 || g.jobs.bytes != 0 {
		t.Errorf("got %d jobs of %d users with %d bytes, want none", len(g.jobs.byID), len(g.jobs.users), g.jobs.bytes)
	}
}

// What is taken by a reader that has left is there for the next, and what was never taken is not lost.
func TestStreamResumes(t *testing.T) {
	s := newStream("x")
	first, _ := s.attach(-1)
	for _, m := range []string{"0", "1", "2"} {
		s.put(json.RawMessage(m), false)
	}
	take := func(reader int) string {
		var all string
		for {
			m, _, ok, _ := s.take(reader)
			if !ok {
				return all
			}
			all += string(m.head)
		}
	}
	if got := take(first); got != "012" {
		t.Errorf("got %q, want 012", got)
	}
	lost := s.lost()
	second, ok := s.attach(0) // in the place of the first
	if !ok {
		t.Fatal("got no place in the stream, want one")
	}
	if got := take(first); got != "" {
		t.Errorf("got %q for the first reader, want nothing", got)
	}
	if got := take(second); got != "012" {
		t.Errorf("got %q, want 012", got)
	}
	if s.lost() != lost {
		t.Errorf("got another channel for a reader in the place of another, want the same")
	}
	s.detach(second)
	s.put(json.RawMessage("3"), false)
	if got := take(second); got != "" {
		t.Errorf("got %q for a reader that left, want nothing", got)
	}
	third, _ := s.attach(-1)
	if got := take(third); got != "3" {
		t.Errorf("got %q, want 3", got)
	}
	if _, ok := s.attach(5); ok {
		t.Errorf("got a place behind the end, want none")
	}
	s.detach(third)
	s.detach(third)
}

// A stream is lost when no reader has come for a while, whenever that is asked.
func TestStreamLost(t *testing.T) {
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
				s := newStream(test.id)
				if test.left >= 0 {
					reader, _ := s.attach(-1)
					s.detach(reader)
					time.Sleep(test.left)
				}
				lost := s.lost()
				isLost := func() bool {
					synctest.Wait()
					select {
					case <-lost:
						return true
					default:
						return false
					}
				}
				switch {
				case test.again > 0:
					time.Sleep(test.again)
					s.attach(-1)
					time.Sleep(time.Hour)
					if isLost() {
						t.Error("got a lost stream, want one with a reader")
					}
				default:
					time.Sleep(test.want - time.Nanosecond)
					if test.want > time.Nanosecond && isLost() {
						t.Errorf("got a lost stream before %v, want it then", test.want)
					}
					time.Sleep(time.Nanosecond)
					if !isLost() {
						t.Errorf("got a stream that is not lost after %v, want it lost", test.want)
					}
				}
			})
		})
	}
}

// Notifications that wait are bounded, answers are not lost.
func TestStreamDrops(t *testing.T) {
	s := newStream("")
	for range 3 * keptEvents {
		s.put(json.RawMessage("1"), true)
	}
	s.put(json.RawMessage("2"), false)
	if got := len(s.events); got != keptEvents+1 {
		t.Errorf("got %d messages, want %d", got, keptEvents+1)
	}
	s = newStream("")
	for range 3 {
		s.put(make(json.RawMessage, keptBytes), true)
	}
	if got := len(s.events); got != 1 {
		t.Errorf("got %d messages, want 1", got)
	}
}

// A session keeps few streams to resume, and little in them.
func TestAnswersKept(t *testing.T) {
	s := &clientSession{}
	for range 10 * maxAnswers {
		out := newStream(newID())
		out.put(make(json.RawMessage, keptBytes), false)
		out.end()
		s.keep(out)
	}
	size := 0
	for _, out := range s.answers {
		size += out.size()
	}
	if size > maxAnswerBytes+keptBytes {
		t.Errorf("got %d bytes kept, want at most %d", size, maxAnswerBytes+keptBytes)
	}
	for range 10 * maxAnswers {
		s.keep(newStream(newID()))
	}
	if got := len(s.answers); got != maxAnswers {
		t.Errorf("got %d streams kept, want %d", got, maxAnswers)
	}
}
