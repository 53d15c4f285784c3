package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
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
	asked, _ := add("b", 1, began.Add(time.Minute)) // which comes first when all is full
	big := &job{id: newID(), peer: asked.peer, first: &request{params: message.Params{All: make(json.RawMessage, maxParkedBytes)}}, done: make(chan struct{}), ended: began.Add(time.Hour)}
	close(big.done)
	if g.park(big, 0); g.jobs.byID[asked.id] != nil {
		t.Errorf("got the result beside a call of %d bytes that can be continued, want it forgotten", maxParkedBytes)
	}
	for range 2 * maxParked {
		add("", 0, began)
	}
	assert.Equal(t, len(g.jobs.byID), maxParked, "jobs")
	g.sweepAt(began.Add(2 * time.Hour))
	if len(g.jobs.byID) != 0 || len(g.jobs.users) != 0 || g.jobs.bytes != 0 {
		t.Errorf("got %d jobs of %d users with %d bytes, want none", len(g.jobs.byID), len(g.jobs.users), g.jobs.bytes)
	}
}

// A login is offered to the user whose it is and, where there are users, one that all share to those who may change
// servers.
func TestLoginOf(t *testing.T) {
	for _, test := range []struct {
		login, user string
		manage      bool
		users       bool
		want        bool
	}{
		{"ada", "ada", false, true, true},
		{"ada", "eve", true, true, false},
		{"ada", "", true, true, false},
		{"", "ada", false, true, false},
		{"", "ada", true, true, true},
		{"", "", false, false, true},
	} {
		g := &Gateway{}
		if test.users {
			g.opts.Authenticate = func(*http.Request) (*access.Caller, error) { return nil, nil }
		}
		a := asker{&job{peer: &peer{shown: shown{view: &view{gateway: g}}, caller: &access.Caller{User: test.user, Grant: &access.Grant{Manage: test.manage}}}}}
		assert.Equal(t, a.LoginOf(mcp.WithOutcome(&auth.LoginRequiredError{User: test.login, Server: "one"}, mcp.NotSent)) != nil, test.want, "%+v", test)
	}
}

// The requests of a session that are under way are bounded; one that has ended makes room.
func TestRequestsUnderWay(t *testing.T) {
	s := &clientSession{}
	id := func(i int) json.RawMessage { return json.RawMessage(strconv.Itoa(i)) }
	var first *running
	for i := range maxUnderWay {
		r, failed := s.enter(id(i))
		if failed != nil {
			t.Fatalf("request %d: got %v, want room", i, failed)
		}
		if i == 0 {
			first = r
		}
	}
	if _, failed := s.enter(id(maxUnderWay)); failed == nil {
		t.Errorf("got room for request %d, want none", maxUnderWay)
	}
	s.leave(id(0), first)
	if _, failed := s.enter(id(maxUnderWay)); failed != nil {
		t.Errorf("after one has ended: got %v, want room", failed)
	}
}

// The subscriptions of all are bounded, and those of one user; one that has ended counts no more.
func TestSubscriptionsBound(t *testing.T) {
	g := &Gateway{followOf: shares{}}
	follow := func(user string) error {
		ctx, cancel := context.WithCancel(session.WithUser(t.Context(), user))
		cancel()
		g.ctx = ctx // so that it ends at once
		return <-g.follow(ctx, "one", "note://1", "note://1", nil)
	}
	for range maxFollowed / 4 {
		if !g.beginFollowing("a") {
			t.Fatal("got a refusal, want room")
		}
	}
	for user, want := range map[string]error{"a": errFollowed, "b": ErrClosed} {
		if err := follow(user); err != want {
			t.Errorf("user %s: got %v, want %v", user, err, want)
		}
	}
	assert.Equal(t, g.followed, maxFollowed/4, "subscriptions")
	for user := 0; g.followed < maxFollowed; user++ {
		g.beginFollowing(strconv.Itoa(user))
	}
	if err := follow("b"); err != errFollowed {
		t.Errorf("with all taken: got %v, want %v", err, errFollowed)
	}
}

// A session keeps few streams to resume, and little in them.
func TestAnswersKept(t *testing.T) {
	s := &clientSession{}
	const keptBytes = 1 << 20 // by one stream
	for range 10 * maxAnswers {
		out := stream.New(newID())
		out.Put(make(json.RawMessage, keptBytes), false)
		out.End()
		s.keep(out)
	}
	size := 0
	for _, out := range s.answers {
		size += out.Size()
	}
	if size > maxAnswerBytes+keptBytes {
		t.Errorf("got %d bytes kept, want at most %d", size, maxAnswerBytes+keptBytes)
	}
	for range 10 * maxAnswers {
		s.keep(stream.New(newID()))
	}
	assert.Equal(t, len(s.answers), maxAnswers, "streams kept")
	for _, out := range slices.Clone(s.answers) { // which are kept before there is an answer
		out.Put(make(json.RawMessage, keptBytes), false)
		out.End()
		s.keep(out)
	}
	if got := len(s.answers); got > maxAnswerBytes/keptBytes+1 {
		t.Errorf("got %d streams of 1 MiB kept, want at most %d", got, maxAnswerBytes/keptBytes+1)
	}
}
