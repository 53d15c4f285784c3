package session_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A storm is a session that many processes use at once, while its tokens expire
// again and again. Its authorization server gives each refresh token for one use,
// and takes a second use for theft.
type storm struct {
	t         testing.TB
	as        *authtest.Server
	rs        *authtest.Resource
	dir       string
	calls     int // at once, in each process
	processes []*stormProcess
}

func newStorm(t testing.TB, processes, calls int) *storm {
	t.Helper()
	s := &storm{t: t, as: authtest.NewServer(t, &authtest.Options{NoRecord: true}), dir: t.TempDir(), calls: calls}
	s.rs = s.as.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }), nil)
	s.logIn()
	for range processes {
		s.processes = append(s.processes, s.start())
	}
	return s
}

func (s *storm) start() *stormProcess { return startStormProcess(s.t, s.dir, s.rs.URL, s.calls) }

// logIn logs the user in, in this process.
func (s *storm) logIn() {
	s.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), stormPatience)
	defer stop()
	m, store, err := stormManager(s.dir, s.rs.URL)
	assert.OK(s.t, err)
	defer func() {
		_ = m.Close()
		_ = store.Close()
	}()
	login := assert.Value(m.Login(ctx, stormKey()))(s.t)
	assert.Value(m.Complete(ctx, assert.Value(s.as.Approve(ctx, login.URL))(s.t), nil))(s.t)
}

// rage has processes make their calls, and returns what became of them, for those
// that have lived to tell.
func (s *storm) rage(processes ...*stormProcess) (total stormReport) {
	s.t.Helper()
	total.Ended, total.Failed = map[string]int{}, map[string]int{}
	for _, p := range processes {
		_ = p.goes() // if it was killed there is no report
	}
	for _, p := range processes {
		r, _ := p.report(s.t)
		total.OK += r.OK
		for reason, n := range r.Ended {
			total.Ended[reason] += n
		}
		for problem, n := range r.Failed {
			total.Failed[problem] += n
		}
	}
	return total
}

// calm ends all processes.
func (s *storm) calm() {
	s.t.Helper()
	for _, p := range s.processes {
		assert.OK(s.t, p.end())
	}
}

// refreshes returns how often a refresh token was sent. Each login has exchanged
// a code at the same endpoint.
func (s *storm) refreshes() int {
	return s.as.Count(authtest.TokenEndpoint) - s.as.Granted("authorization_code")
}

// wantHead checks that what is stored is the newest that was issued, and that it
// can be renewed once more.
func (s *storm) wantHead() {
	s.t.Helper()
	m, store, err := stormManager(s.dir, s.rs.URL)
	assert.OK(s.t, err)
	defer func() {
		_ = m.Close()
		_ = store.Close()
	}()
	header := http.Header{}
	assert.OK(s.t, m.Handler(stormKey()).Authenticate(context.Background(), header, http.MethodPost, s.rs.URL, nil))
	token := strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
	family, ok := s.as.Family(token)
	assert.Equal(s.t, [...]any{ok, family.Access, family.Revoked, family.Ended},
		[...]any{true, token, false, false}, "the stored token is not the newest of a live login")
	s.as.ExpireAll()
	err = stormCall(s.as.Client(), m.Handler(stormKey()), s.rs.URL)
	now, _ := s.as.Family(token)
	assert.OK(s.t, err)
	assert.Equal(s.t, [...]any{now.Refreshes, now.Revoked}, [...]any{family.Refreshes + 1, false}, "renewing it once more")
}

// soaking reports whether there is time for the long form of a test.
func soaking() bool { return os.Getenv("MCPBELT_SOAK") == "1" }

// Many processes with many calls each, all of which find their token expired at
// the same time, again and again: each time one of them refreshes it, once.
func TestStorm(t *testing.T) {
	processes, calls, expiries := 3, 8, 10
	if soaking() {
		processes, calls, expiries = 8, 64, 10_000
	}
	s := newStorm(t, processes, calls)
	for n := 1; n <= expiries; n++ {
		s.as.ExpireAll()
		assert.Equal(t, [...]any{s.rage(s.processes...).OK, s.refreshes()}, [...]any{processes * calls, n}, "expiry %d", n)
		if n%100 == 0 {
			t.Logf("%d expiries", n)
		}
	}
	s.calm()
	refreshes := s.refreshes()
	s.wantHead()
	assert.Equal(t, [...]any{s.as.Revoked(), len(s.as.Families())}, [...]any{0, 1})
	t.Logf("%d processes with %d calls each: %d expiries, %d refreshes, %d logins revoked",
		processes, calls, expiries, refreshes, s.as.Revoked())
}

// What one expiry costs 8 processes with 64 calls each, from the first refusal to
// the last answer.
func BenchmarkStorm(b *testing.B) {
	const processes, calls = 8, 64
	s := newStorm(b, processes, calls)
	s.rage(s.processes...)
	expiries := 0
	for b.Loop() {
		s.as.ExpireAll()
		expiries++
		assert.Equal(b, s.rage(s.processes...).OK, processes*calls)
	}
	b.ReportMetric(float64(s.refreshes())/float64(expiries), "refreshes/op")
	s.calm()
}

// lostReason is how sessions end whose newest refresh token was lost.
const lostReason = "the answer to an earlier renewal was lost"

// An accident is what happens to the one process that refreshes a token.
type accident struct {
	name string
	// fault is what the authorization server does with the request.
	fault authtest.Fault
	// kill says that the process is killed while it waits for the answer.
	kill bool
	// lost says that the refresh token is used up, and its successor lost: the
	// session cannot be saved.
	lost bool
}

func accidents() []accident {
	return []accident{
		{name: "cut before", fault: authtest.Fault{Cut: true}},
		{name: "busy", fault: authtest.Fault{Status: http.StatusServiceUnavailable}},
		{name: "cut after", fault: authtest.Fault{Commit: true, Cut: true}, lost: true},
		{name: "broken answer", fault: authtest.Fault{Commit: true, Status: http.StatusOK, Body: `{"access_token":`}, lost: true},
		{name: "killed before", fault: authtest.Fault{Cut: true}, kill: true},
		{name: "killed after", fault: authtest.Fault{Commit: true}, kill: true, lost: true},
	}
}

// Whatever happens to a refresh, the session ends only where its newest refresh
// token was lost with an answer, and for that reason.
func TestStormAccidents(t *testing.T) {
	t.Parallel()
	rounds := len(accidents())
	if soaking() {
		rounds = 120
	}
	s := newStorm(t, 3, 4)
	lost := 0
	for n := range rounds {
		a := accidents()[n%len(accidents())]
		victim := rand.IntN(len(s.processes))
		s.as.ExpireAll()
		s.suffer(a, victim)
		total := s.rage(s.processes...)
		want := len(s.processes) * s.calls
		if !a.lost && total.OK != want || a.lost && total.Ended[lostReason] != want {
			t.Fatalf("%s: %+v", a.name, total)
		}
		if a.lost {
			lost++
			s.logIn()
			total = s.rage(s.processes...)
			assert.Equal(t, total.OK, want, "after a new login")
		}
		assert.Equal(t, s.as.Revoked(), lost, "%s", a.name)
	}
	s.calm()
	s.wantHead()
	t.Logf("%d accidents, %d answers lost, %d logins revoked", rounds, lost, s.as.Revoked())
}

// suffer has one process refresh the token, and something happen to it.
func (s *storm) suffer(a accident, victim int) {
	s.t.Helper()
	p := s.processes[victim]
	if !a.kill {
		s.as.Fail(authtest.TokenEndpoint, 1, a.fault)
		s.rage(p)
		return
	}
	held := make(chan struct{})
	a.fault.Wait = held
	before := s.as.Count(authtest.TokenEndpoint)
	committed := s.as.Granted("refresh_token")
	s.as.Fail(authtest.TokenEndpoint, 1, a.fault)
	_ = p.goes()
	ctx, stop := context.WithTimeout(context.Background(), stormPatience)
	defer stop()
	assert.OK(s.t, s.as.Await(ctx, authtest.TokenEndpoint, before+1))
	for a.fault.Commit && s.as.Granted("refresh_token") == committed && ctx.Err() == nil {
		_ = stormPause(ctx, 1) // the request has come; its effect follows
	}
	_ = p.kill()
	close(held)
	s.processes[victim] = s.start()
}

// Processes are killed at any moment, and others go on. A session may only end by
// an answer that was lost with a process.
func TestStormKills(t *testing.T) {
	rounds := 12
	if soaking() {
		rounds = 500
	}
	s := newStorm(t, 3, 4)
	ended := 0
	for range rounds {
		s.as.ExpireAll()
		victim := rand.IntN(len(s.processes))
		moment := rand.IntN(3)
		requests := s.as.Count(authtest.TokenEndpoint)
		for _, p := range s.processes {
			_ = p.goes()
		}
		ctx, stop := context.WithTimeout(context.Background(), stormPatience)
		switch moment {
		case 0: // at once
		case 1: // when somebody has sent the refresh token
			assert.OK(t, s.as.Await(ctx, authtest.TokenEndpoint, requests+1))
		case 2: // a random while later
			_ = stormPause(ctx, rand.N(20*stormMoment))
		}
		stop()
		_ = s.processes[victim].kill()
		for i, p := range s.processes {
			if i != victim {
				r, ok := p.report(t)
				if !ok || len(r.Failed) > 0 || r.OK+r.Ended[lostReason] != s.calls {
					t.Fatalf("a process beside one that was killed: %v, %+v", ok, r)
				}
			}
		}
		s.processes[victim] = s.start()
		total := s.rage(s.processes...)
		want := len(s.processes) * s.calls
		switch {
		case total.OK == want:
		case total.Ended[lostReason] == want:
			ended++
			s.logIn()
			total = s.rage(s.processes...)
			assert.Equal(t, total.OK, want, "after a new login")
		default:
			t.Fatalf("after a kill: %+v", total)
		}
		assert.Equal(t, s.as.Revoked(), ended)
	}
	s.calm()
	s.wantHead()
	t.Logf("%d processes killed, %d answers lost with them", rounds, ended)
}
