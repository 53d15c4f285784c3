// Tests of job.go: several processes renew the tokens of one session.

package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

const (
	stormDir   = "SESSION_STORM_DIR"   // makes the test program a process of a storm
	stormURL   = "SESSION_STORM_URL"   // the resource that it calls
	stormCalls = "SESSION_STORM_CALLS" // how many calls it makes at once

	// patience bounds one round of a storm, and what other tests of clients wait for.
	patience    = 2 * time.Minute
	callbackURL = "http://127.0.0.1:1/callback"
	// lostReason is how sessions end whose newest refresh token was lost.
	lostReason = "the answer to an earlier renewal was lost"
)

var stormKey = session.Key{User: "alice", Server: "storm"}

// stormManager opens a manager as every process of a storm does. end closes it.
func stormManager(dir, url string) (m *session.Manager, end func() error, err error) {
	store, err := filestore.Open(context.Background(), dir, nil)
	if err != nil {
		return nil, nil, err
	}
	m, err = newManager(store, &auth.Config{Server: "storm", URL: url})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return m, func() error { return errors.Join(m.Close(), store.Close()) }, nil
}

func newManager(s *seal.Store, config *auth.Config) (*session.Manager, error) {
	return session.NewManager(s, &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return config, nil },
		RedirectURL: callbackURL,
	})
}

// A stormReport is what became of one round of calls.
type stormReport struct {
	OK     int            // calls that were let in
	Ended  map[string]int // calls that need a login, by the reason why
	Failed map[string]int // others
}

func newStormReport() *stormReport {
	return &stormReport{Ended: map[string]int{}, Failed: map[string]int{}}
}

func (r *stormReport) add(err error) {
	var required *auth.LoginRequiredError
	switch {
	case err == nil:
		r.OK++
	case errors.As(err, &required):
		r.Ended[required.Reason]++
	default:
		r.Failed[err.Error()]++
	}
}

// runStormProcess makes calls for each line of its input, all at once, and writes
// a line about them.
func runStormProcess() error {
	session.PauseRenewals(time.Millisecond)
	calls, err := strconv.Atoi(os.Getenv(stormCalls))
	if err != nil {
		return err
	}
	url := os.Getenv(stormURL)
	m, end, err := stormManager(os.Getenv(stormDir), url)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: calls}}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		report := newStormReport()
		errs := make(chan error)
		for range calls {
			go func() { errs <- stormCall(client, m.Handler(stormKey), url) }()
		}
		for range calls {
			report.add(<-errs)
		}
		if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
			return err
		}
	}
	return end()
}

// stormCall makes one call as a transport does, and again when a caller is told to.
func stormCall(client *http.Client, h *session.Handler, url string) error {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return err
		}
		if err := h.Authenticate(ctx, req.Header, req.Method, url, []byte(body)); err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		h.Observe(resp)
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode == http.StatusOK {
			return errors.Join(err, resp.Body.Close())
		}
		err = h.Authorize(ctx, req, resp)
		var later *session.RefreshError
		if errors.As(err, &later) {
			err = pause(ctx, time.Until(later.RetryAt))
		}
		if err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A storm is a session that many processes use at once, while its tokens expire
// again and again. Its authorization server gives each refresh token for one use,
// and takes a second use for theft.
type storm struct {
	t         testing.TB
	ctx       context.Context
	as        *authtest.Server
	url       string // of the resource
	dir       string
	calls     int // at once, in each process
	processes []*stormProcess
	lost      int // logins whose newest refresh token was lost
}

func newStorm(t testing.TB, processes, calls int) *storm {
	t.Helper()
	s := &storm{t: t, ctx: t.Context(), as: authtest.NewServer(t, nil), dir: t.TempDir(), calls: calls}
	s.url = s.as.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }), nil).URL
	s.logIn()
	for range processes {
		s.processes = append(s.processes, s.start())
	}
	return s
}

// manager returns a manager in this process, until the test ends.
func (s *storm) manager() *session.Manager {
	s.t.Helper()
	m, end, err := stormManager(s.dir, s.url)
	assert.OK(s.t, err)
	s.t.Cleanup(func() { _ = end() })
	return m
}

// logIn logs the user in, in this process.
func (s *storm) logIn() {
	s.t.Helper()
	m := s.manager()
	assert.Value(m.Complete(s.ctx, assert.Value(s.as.Approve(s.ctx, assert.Value(m.Login(s.ctx, stormKey))(s.t).URL))(s.t), nil))(s.t)
}

// round has processes make their calls, and returns what became of them, for those
// that have lived to tell.
func (s *storm) round(processes ...*stormProcess) *stormReport {
	s.t.Helper()
	total := newStormReport()
	for _, p := range processes {
		p.begin()
	}
	for _, p := range processes {
		r, _ := p.report()
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

// wantRound checks that all calls of all processes are let in, or that the session has
// ended for all: with lost it has to. Then the user logs in, and all are let in.
func (s *storm) wantRound(what string, lost bool) {
	s.t.Helper()
	want := len(s.processes) * s.calls
	total := s.round(s.processes...)
	if total.Ended[lostReason] == want {
		s.lost++
		s.logIn()
		total = s.round(s.processes...)
		lost = false
	}
	if total.OK != want || lost {
		s.t.Fatalf("%s: got %+v, want %d calls that are let in or ended, lost: %v", what, total, want, lost)
	}
	assert.Equal(s.t, s.as.Revoked(), s.lost, "%s: logins revoked", what)
}

// refreshes returns how often a refresh token was sent. Each login has exchanged
// a code at the same endpoint.
func (s *storm) refreshes() int {
	return s.as.Count(authtest.TokenEndpoint) - s.as.Granted("authorization_code")
}

// end ends all processes, and checks that what is stored is the newest that was issued, and
// that it can be renewed once more.
func (s *storm) end() {
	s.t.Helper()
	for _, p := range s.processes {
		assert.OK(s.t, p.end())
	}
	m, header := s.manager(), http.Header{}
	assert.OK(s.t, m.Handler(stormKey).Authenticate(s.ctx, header, http.MethodPost, s.url, nil))
	token := strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
	before, _ := s.as.Family(token)
	assert.True(s.t, before.Access == token, "the stored token is the newest of its login")
	s.as.ExpireAll()
	assert.OK(s.t, stormCall(s.as.Client(), m.Handler(stormKey), s.url))
	after, _ := s.as.Family(token)
	assert.Equal(s.t, after.Refreshes, before.Refreshes+1, "refreshes of the login")
	assert.False(s.t, after.Ended, "the login has ended")
}

// A stormProcess is a process that makes calls when it is told to.
type stormProcess struct {
	t       testing.TB
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	reports chan stormReport // closed when it has ended
}

func (s *storm) start() *stormProcess {
	s.t.Helper()
	p := &stormProcess{t: s.t, cmd: exec.Command(os.Args[0]), reports: make(chan stormReport, 1)}
	p.cmd.Env = append(os.Environ(), stormDir+"="+s.dir, stormURL+"="+s.url, stormCalls+"="+strconv.Itoa(s.calls))
	p.cmd.Stderr = os.Stderr
	p.stdin = assert.Value(p.cmd.StdinPipe())(s.t)
	stdout := assert.Value(p.cmd.StdoutPipe())(s.t)
	assert.OK(s.t, p.cmd.Start())
	go func() {
		defer close(p.reports)
		for in := json.NewDecoder(stdout); ; {
			var r stormReport
			if in.Decode(&r) != nil {
				return
			}
			p.reports <- r
		}
	}()
	s.t.Cleanup(func() { _ = p.kill() })
	return p
}

// begin begins a round of calls. If the process was killed there will be no report.
func (p *stormProcess) begin() { _, _ = io.WriteString(p.stdin, "go\n") }

// report returns what became of the round; ok is false if the process ended.
func (p *stormProcess) report() (r stormReport, ok bool) {
	p.t.Helper()
	select {
	case r, ok = <-p.reports:
	case <-time.After(2 * patience):
		p.t.Fatal("got no report of a process")
	}
	return r, ok
}

// end lets the process end, and returns what it has to complain of.
func (p *stormProcess) end() error {
	_ = p.stdin.Close()
	for range p.reports {
	}
	return p.cmd.Wait()
}

// kill ends the process as nothing can prevent it, at once.
func (p *stormProcess) kill() error {
	_ = p.cmd.Process.Kill()
	return p.end()
}

// soak returns few, or more with the environment variable MCPBELT_SOAK.
func soak(few, more int) int {
	if os.Getenv("MCPBELT_SOAK") == "1" {
		return more
	}
	return few
}

// Many processes with many calls each, all of which find their token expired at
// the same time, again and again: each time one of them refreshes it, once.
func TestStorm(t *testing.T) {
	s := newStorm(t, soak(assert.Cases(2, 3), 8), soak(8, 64))
	for n := 1; n <= soak(assert.Cases(4, 10), 10_000); n++ {
		s.as.ExpireAll()
		s.wantRound(fmt.Sprint("expiry ", n), false)
		assert.Equal(t, s.refreshes(), n, "refreshes")
	}
	s.end()
	assert.Equal(t, len(s.as.Families()), 1, "logins")
}

// What one expiry costs 8 processes with 64 calls each, from the first refusal to
// the last answer.
func BenchmarkStorm(b *testing.B) {
	s := newStorm(b, 8, 64)
	s.wantRound("at first", false)
	expiries := 0
	for b.Loop() {
		s.as.ExpireAll()
		expiries++
		s.wantRound("expiry", false)
	}
	b.ReportMetric(float64(s.refreshes())/float64(expiries), "refreshes/op")
	s.end()
}

// Whatever happens to a refresh, the session ends only where its newest refresh
// token was lost with an answer, and for that reason.
func TestStormAccidents(t *testing.T) {
	accidents := []struct {
		name  string
		fault authtest.Fault // what the authorization server does with the request
		kill  bool           // the process is killed while it waits for the answer
		lost  bool           // the refresh token is used up, and its successor lost
	}{
		{name: "cut before", fault: authtest.Fault{Cut: true}},
		{name: "busy", fault: authtest.Fault{Status: http.StatusServiceUnavailable}},
		{name: "cut after", fault: authtest.Fault{Commit: true, Cut: true}, lost: true},
		{name: "broken answer", fault: authtest.Fault{Commit: true, Status: http.StatusOK, Body: `{"access_token":`}, lost: true},
		{name: "killed before", fault: authtest.Fault{Cut: true}, kill: true},
		{name: "killed after", fault: authtest.Fault{Commit: true}, kill: true, lost: true},
	}
	s := newStorm(t, assert.Cases(2, 3), 4)
	for n := range soak(len(accidents), 120) {
		a := accidents[n%len(accidents)]
		victim := rand.IntN(len(s.processes))
		s.as.ExpireAll()
		if a.kill {
			s.killAtRefresh(victim, a.fault)
		} else {
			s.as.Fail(authtest.TokenEndpoint, 1, a.fault)
			s.round(s.processes[victim])
		}
		lost := s.lost
		s.wantRound(a.name, a.lost)
		assert.Equal(t, s.lost > lost, a.lost, "%s: the session has ended", a.name)
	}
	s.end()
}

// killAtRefresh has one process refresh the token, and be killed before it has the answer.
func (s *storm) killAtRefresh(victim int, fault authtest.Fault) {
	s.t.Helper()
	held := make(chan struct{})
	fault.Wait = held
	before, committed := s.as.Count(authtest.TokenEndpoint), s.as.Granted("refresh_token")
	s.as.Fail(authtest.TokenEndpoint, 1, fault)
	s.processes[victim].begin()
	assert.OK(s.t, s.as.Await(s.ctx, authtest.TokenEndpoint, before+1))
	for fault.Commit && s.as.Granted("refresh_token") == committed {
		assert.OK(s.t, pause(s.ctx, time.Millisecond)) // the request has come; its effect follows
	}
	_ = s.processes[victim].kill()
	close(held)
	s.processes[victim] = s.start()
}

// Processes are killed at any moment, and others go on. A session may only end by
// an answer that was lost with a process.
func TestStormKills(t *testing.T) {
	s := newStorm(t, assert.Cases(2, 3), 4)
	for round := range soak(assert.Cases(3, 12), 500) {
		s.as.ExpireAll()
		victim := rand.IntN(len(s.processes))
		requests := s.as.Count(authtest.TokenEndpoint)
		for _, p := range s.processes {
			p.begin()
		}
		switch round % 3 {
		case 0: // at once
		case 1: // when a process has sent the refresh token
			assert.OK(t, s.as.Await(s.ctx, authtest.TokenEndpoint, requests+1))
		case 2: // a random while later
			assert.OK(t, pause(s.ctx, rand.N(20*time.Millisecond)))
		}
		_ = s.processes[victim].kill()
		for i, p := range s.processes {
			if i != victim {
				r, ok := p.report()
				assert.True(t, ok, "a process beside one that was killed lives")
				assert.Equal(t, r.OK+r.Ended[lostReason], s.calls, "its calls, of %+v", r)
			}
		}
		s.processes[victim] = s.start()
		s.wantRound("after a kill", false)
	}
	s.end()
}

func TestMain(m *testing.M) {
	if os.Getenv(stormDir) != "" {
		if err := runStormProcess(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Parallel tests wait for a server, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	// The DELETE that ends a session of the SDK's server is given up on a busy machine.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}
