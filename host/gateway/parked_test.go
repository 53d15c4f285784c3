// Tests of the bounds in parked.go, session.go, request.go and subscribe.go, which are too wide to be reached by requests.

package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/quota"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// newParking returns a gateway that has jobs only.
func newParking() *Gateway {
	return &Gateway{jobs: parkedJobs{byID: map[string]*job{}, count: quota.New(maxParked, maxParkedOf)}}
}

// peerOf returns the peer of a caller.
func peerOf(user, credential string) *peer {
	return &peer{caller: &access.Caller{User: user, Credential: credential}}
}

// A job belongs to user and credential, and without a user its credential bounds it.
func TestParkedOfCredential(t *testing.T) {
	g := newParking()
	for range maxParkedOf {
		assert.True(t, g.park(&job{id: newID(), peer: peerOf("", "key 1"), done: make(chan struct{})}), "room")
	}
	j := &job{id: newID(), peer: peerOf("", "key 1"), done: make(chan struct{})}
	assert.False(t, g.park(j), "room for more of one credential")
	j.peer = peerOf("a", "key 2")
	assert.True(t, g.park(j), "room for another credential")
	for _, other := range []*peer{peerOf("a", "key 1"), peerOf("b", "key 2"), peerOf("a", ""), peerOf("", "key 2")} {
		assert.True(t, g.parked(other, j.id) == nil, "the job is not known to %+v", other.caller)
	}
	assert.True(t, g.parked(peerOf("a", "key 2"), j.id) == j, "the job is known to its own caller")
}

// Jobs that wait to be asked for are bounded: all, those of one user, and their results.
func TestParkedBounds(t *testing.T) {
	g := newParking()
	began := time.Now()
	add := func(user string, size int, ended time.Time) (*job, bool) {
		j := &job{id: newID(), peer: peerOf(user, ""), done: make(chan struct{}), result: make(json.RawMessage, size), ended: ended}
		close(j.done)
		return j, g.park(j)
	}
	isKept := func(j *job) bool { return g.jobs.byID[j.id] != nil }
	for range maxParkedOf {
		_, ok := add("a", 1, began)
		assert.True(t, ok, "room")
	}
	_, ok := add("a", 1, began)
	assert.False(t, ok, "room for more of one user")
	old, ok := add("b", maxParkedBytes/2, began.Add(-time.Second))
	assert.True(t, ok, "room for another user")
	add("b", maxParkedBytes/2, began)
	add("b", maxParkedBytes/2, began.Add(time.Second))
	assert.False(t, isKept(old), "the oldest result is kept")
	assert.True(t, g.jobs.bytes <= maxParkedBytes, "%d bytes are in bounds", g.jobs.bytes)
	asked, _ := add("b", 1, began.Add(time.Minute)) // which comes first when all is full
	big := &job{id: newID(), peer: asked.peer, first: &request{params: message.Params{All: make(json.RawMessage, maxParkedBytes)}}, done: make(chan struct{}), ended: began.Add(time.Hour)}
	close(big.done)
	g.park(big)
	assert.False(t, isKept(asked), "the result is kept beside a call that can be continued and takes all bytes")
	for range 2 * maxParked {
		add("", 0, began)
	}
	assert.Equal(t, len(g.jobs.byID), maxParked, "jobs")
	g.sweepAt(began.Add(2 * time.Hour))
	assert.Equal(t, [3]int{len(g.jobs.byID), len(g.jobs.count.Of), g.jobs.bytes}, [3]int{}, "jobs, users and bytes")
}

// The subscriptions of all are bounded, and those of one user; one that has ended counts no more.
func TestSubscriptionsBound(t *testing.T) {
	g := &Gateway{followed: quota.New(maxFollowed, 0)}
	follow := func(user string) string {
		ctx, cancel := context.WithCancel(session.WithUser(t.Context(), user))
		cancel()
		g.ctx = ctx // so that it ends at once
		return g.follow(ctx, ctx, "one", "note://1", "note://1", nil).Error()
	}
	for range maxFollowed / 4 {
		assert.OK(t, g.followed.Take("a", 1, ""))
	}
	assert.Contains(t, follow("a"), "of this user or key", "more of one user")
	assert.Equal(t, follow("b"), ErrClosed.Error(), "another user")
	assert.Equal(t, g.followed.Taken, maxFollowed/4, "subscriptions")
	for user := 0; g.followed.Taken < maxFollowed; user++ {
		_ = g.followed.Take(strconv.Itoa(user), 1, "")
	}
	assert.Contains(t, follow("b"), "too many", "with all taken")
}

// A session keeps few streams to resume, and little in them.
func TestAnswersKept(t *testing.T) {
	s := &clientSession{}
	const keptBytes = 1 << 20 // by one stream
	end := func(out *stream.Stream) {
		out.Put(make(json.RawMessage, keptBytes), false)
		out.End()
		s.keep(out)
	}
	for range 2 * maxAnswers {
		end(stream.New(newID()))
	}
	size := 0
	for _, out := range s.answers {
		size += out.Size()
	}
	assert.True(t, size <= maxAnswerBytes+keptBytes, "%d bytes are in bounds", size)
	for range 2 * maxAnswers {
		s.keep(stream.New(newID()))
	}
	assert.Equal(t, len(s.answers), maxAnswers, "streams kept")
	for _, out := range slices.Clone(s.answers) { // which are kept before there is an answer
		end(out)
	}
	assert.True(t, len(s.answers) <= maxAnswerBytes/keptBytes+1, "%d streams of 1 MiB are in bounds", len(s.answers))
}
