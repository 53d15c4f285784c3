//go:build integration

package sqlstore_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// What a replica of a storm is told by its environment.
const (
	stormDSN      = "SQLSTORE_STORM_DSN"
	stormResource = "SQLSTORE_STORM_RESOURCE"
	stormKey      = "SQLSTORE_STORM_KEY"
	stormReturn   = "http://127.0.0.1:1/callback"
)

func init() {
	children[stormDSN] = func(dsn string) {
		if err := runStormReplica(dsn); err != nil {
			fmt.Fprintln(os.Stderr, "a replica:", err)
			os.Exit(1)
		}
	}
}

func stormUser(i int) session.Key {
	return session.Key{User: fmt.Sprintf("user%d", i), Server: "storm"}
}

// A stormBase is what each replica opens.
type stormBase struct {
	db       *sql.DB
	database *sqlstore.Database
	store    *seal.Store
	sessions *session.Manager
}

func openStormBase(ctx context.Context, dsn, resource, key string) (*stormBase, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(20)
	b := &stormBase{db: db}
	if b.database, err = sqlstore.New(db, sqlstore.PostgreSQL, &sqlstore.Options{WaitForNotification: waitForNotification}); err == nil {
		err = b.database.Migrate(ctx)
	}
	if err == nil {
		b.store, err = seal.NewStore(ctx, b.database.Store("sessions"), seal.StaticKey(auth.Secret(key)))
	}
	if err == nil {
		config := &auth.Config{Server: "storm", URL: resource}
		b.sessions, err = session.NewManager(b.store, &session.Options{
			Config:      func(session.Key) (*auth.Config, error) { return config, nil },
			RedirectURL: stormReturn,
		})
	}
	return b, err
}

func (b *stormBase) close() error {
	return errors.Join(b.sessions.Close(), b.store.Close(), b.db.Close())
}

// A stormReport counts what became of calls and approvals.
type stormReport struct {
	Calls     int
	Ended     map[string]int // calls that need a login, by the reason
	Failed    map[string]int // others
	Asked     int            // calls that wait for approval
	Approved  int            // those that were made by an answer of this replica
	Answers   map[string]int // what became of other answers, by their outcome
	Unchanged []int          // users whose call in the last round failed
}

// A stormReplica is a process that makes calls of many users, and approves those of others.
type stormReplica struct {
	*stormBase
	client   *http.Client
	resource string
	member   *replica.Member
	registry *registry.Registry

	mu     sync.Mutex
	report stormReport
}

// runStormReplica makes calls until it reads a line, "last N"; then it makes one for each of N users, and
// writes its report.
func runStormReplica(dsn string) error {
	ctx := context.Background()
	resource := os.Getenv(stormResource)
	base, err := openStormBase(ctx, dsn, resource, os.Getenv(stormKey))
	if err != nil {
		return err
	}
	r := &stormReplica{stormBase: base, resource: resource, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	r.report = stormReport{Ended: map[string]int{}, Failed: map[string]int{}, Answers: map[string]int{}}
	if r.member, err = replica.Join(ctx, base.database.Store("replicas"), &replica.Options{Every: 200 * time.Millisecond}); err != nil {
		return err
	}
	r.registry = registry.New(&registry.Options{
		Approvals: approval.Options{Replica: r.member.ID()},
		Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask}, nil
		}),
	})
	err = r.registry.Add(registry.MustFunc("act", "Act once.", func(ctx context.Context, in struct{ ID string }) (string, error) {
		_, err := r.db.ExecContext(ctx, "INSERT INTO storm_runs (id) VALUES ($1)", in.ID)
		return in.ID, err
	}))
	if err == nil {
		err = r.member.Attach(r.registry)
	}
	if err != nil {
		return err
	}
	var users int
	if _, err := fmt.Sscanf(os.Getenv("SQLSTORE_STORM_USERS"), "%d", &users); err != nil {
		return err
	}
	raging, calm := context.WithCancel(ctx)
	defer calm()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for raging.Err() == nil {
				r.call(mathrand.IntN(users))
			}
		})
	}
	all.Go(func() { r.ask(raging) })
	all.Go(func() { r.approve(raging) })
	in := bufio.NewScanner(os.Stdin)
	fmt.Println(`"ready"`)
	if !in.Scan() {
		return errors.New("the input has ended")
	}
	calm()
	all.Wait()
	for i := range users {
		if !r.call(i) {
			r.report.Unchanged = append(r.report.Unchanged, i)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(&r.report); err != nil {
		return err
	}
	in.Scan() // until all have made their last calls
	return errors.Join(r.member.Close(ctx), r.close())
}

// call makes a call of a user as a transport does, and reports whether it was let in.
func (r *stormReplica) call(user int) bool {
	err := r.try(r.sessions.Handler(stormUser(user)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Calls++
	var required *auth.LoginRequiredError
	switch {
	case err == nil:
		return true
	case errors.As(err, &required):
		r.report.Ended[required.Reason]++
	default:
		r.report.Failed[fmt.Sprintf("%T", errors.Unwrap(err))]++
	}
	return false
}

func (r *stormReplica) try(h *session.Handler) error {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.resource, strings.NewReader(body))
		if err != nil {
			return err
		}
		var away *session.StoreError
		err = h.Authenticate(ctx, req.Header, req.Method, r.resource, []byte(body))
		if err == nil {
			var resp *http.Response
			if resp, err = r.client.Do(req); err != nil {
				return err
			}
			h.Observe(resp)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = h.Authorize(ctx, req, resp)
		}
		var later *session.RefreshError
		switch {
		case err == nil:
			continue
		case errors.As(err, &later):
			err = stormPause(ctx, time.Until(later.RetryAt))
		case errors.As(err, &away): // the database restarts
			err = stormPause(ctx, 100*time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
}

func stormPause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask wants calls that have to be approved, until the context ends.
func (r *stormReplica) ask(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := r.registry.Call(session.WithUser(context.WithoutCancel(ctx), "ada"), "act", fmt.Appendf(nil, `{"ID":%q}`, rand.Text()))
		if errors.As(err, new(*registry.ApprovalRequiredError)) {
			r.mu.Lock()
			r.report.Asked++
			r.mu.Unlock()
		}
		_ = stormPause(ctx, 50*time.Millisecond)
	}
}

// approve approves the calls of all replicas, until the context ends.
func (r *stormReplica) approve(ctx context.Context) {
	for ctx.Err() == nil {
		list, err := r.member.Approvals(ctx)
		var all sync.WaitGroup
		for _, req := range list {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer cancel()
				_, err := r.member.Approve(ctx, req.ID, nil)
				r.mu.Lock()
				defer r.mu.Unlock()
				if err == nil {
					r.report.Approved++
				} else {
					r.report.Answers[mcp.OutcomeOf(err).String()]++
				}
			})
		}
		all.Wait()
		if err != nil || len(list) == 0 {
			_ = stormPause(ctx, 20*time.Millisecond)
		}
	}
}

// A stormProcess is a replica.
type stormProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startStormProcess(t *testing.T, dsn, resource, key string, users int) *stormProcess {
	t.Helper()
	p := &stormProcess{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), stormDSN+"="+dsn, stormResource+"="+resource, stormKey+"="+key, fmt.Sprintf("SQLSTORE_STORM_USERS=%d", users))
	p.cmd.Stderr = os.Stderr
	p.in = assert.Value(p.cmd.StdinPipe())(t)
	p.out = json.NewDecoder(assert.Value(p.cmd.StdoutPipe())(t))
	assert.OK(t, p.cmd.Start())
	t.Cleanup(p.kill)
	return p
}

func (p *stormProcess) ready(t *testing.T) {
	t.Helper()
	var word string
	assert.OK(t, p.out.Decode(&word))
	assert.Equal(t, word, "ready", "word of a replica")
}

// kill ends the process as nothing can prevent it, at once.
func (p *stormProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Many users on four replicas whose tokens expire all the time, and calls that are approved on
// any of them, while replicas are killed and the database restarts: no login ends, no record is lost, and no
// call is made twice. MCPBELT_SOAK=1 makes it large.
//
// The authorization server takes a refresh token again for 10 minutes. One that does not ends
// the login whose renewal was under way in a replica that is killed.
func TestStormOfReplicas(t *testing.T) {
	const replicas = 4
	users, lasts := 300, 10*time.Second
	if os.Getenv("MCPBELT_SOAK") == "1" {
		users, lasts = 2000, time.Minute
	}
	pg := pgtest.New(t)
	as := authtest.NewServer(t, &authtest.Options{NoRecord: true, TokenLifetime: 5 * time.Second, Grace: 10 * time.Minute})
	rs := as.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }), nil)
	key := strings.Repeat("k", 32)
	ctx := t.Context()
	base := assert.Value(openStormBase(ctx, pg.URL, rs.URL, key))(t)
	assert.Value(base.db.ExecContext(ctx, "CREATE TABLE storm_runs (id text)"))(t)
	began := time.Now()
	var all sync.WaitGroup
	next := make(chan int)
	for range 8 {
		all.Go(func() {
			for i := range next {
				k := stormUser(i)
				login := assert.Value(base.sessions.Login(ctx, k))(t)
				callback := assert.Value(as.ApproveAs(ctx, k.User, login.URL))(t)
				assert.Value(base.sessions.Complete(ctx, callback, nil))(t)
			}
		})
	}
	for i := range users {
		next <- i
	}
	close(next)
	all.Wait()
	t.Logf("%d logins in %v", users, time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		return
	}

	start := func() *stormProcess { return startStormProcess(t, pg.URL, rs.URL, key, users) }
	processes := make([]*stormProcess, replicas)
	for i := range processes {
		processes[i] = start()
	}
	for _, p := range processes {
		p.ready(t)
	}
	began = time.Now()
	kills, restarted := 0, false
	for time.Since(began) < lasts {
		_ = stormPause(ctx, mathrand.N(2*time.Second)) // the storm is random
		if !restarted && time.Since(began) > lasts/2 {
			restarted = true
			pg.Stop()
			pg.Start(t)
		}
		victim := mathrand.IntN(replicas)
		processes[victim].kill()
		processes[victim] = start()
		processes[victim].ready(t)
		kills++
	}
	var total stormReport
	total.Failed, total.Ended, total.Answers = map[string]int{}, map[string]int{}, map[string]int{}
	for _, p := range processes {
		assert.Value(io.WriteString(p.in, "last\n"))(t)
	}
	for _, p := range processes {
		var r stormReport
		assert.OK(t, p.out.Decode(&r))
		total.Calls += r.Calls
		total.Asked += r.Asked
		total.Approved += r.Approved
		for into, from := range map[*map[string]int]map[string]int{&total.Failed: r.Failed, &total.Ended: r.Ended, &total.Answers: r.Answers} {
			for word, n := range from {
				(*into)[word] += n
			}
		}
		if len(r.Unchanged) > 0 {
			t.Errorf("in the end the calls of %d users are not let in on a replica, such as user%d", len(r.Unchanged), r.Unchanged[0])
		}
	}
	for _, p := range processes {
		_, _ = io.WriteString(p.in, "end\n")
		assert.OK(t, p.cmd.Wait(), "a replica")
	}
	assert.Equal(t, as.Revoked(), 0, "logins revoked")
	assert.Equal(t, fmt.Sprint(total.Ended, total.Failed), "map[] map[]", "calls that ended or failed")
	lost := 0
	for i := range users {
		if s, err := base.sessions.Status(ctx, stormUser(i)); err != nil || s.Phase != session.LoggedIn {
			lost++
		}
	}
	var runs, twice int
	assert.OK(t, base.db.QueryRowContext(ctx, "SELECT count(*), count(*) - count(DISTINCT id) FROM storm_runs").Scan(&runs, &twice))
	assert.Equal(t, lost, 0, "records lost")
	assert.Equal(t, twice, 0, "calls run twice")
	// The replicas that are alive in the end may have approved none: they are young.
	assert.Equal(t, runs >= max(total.Approved, 1), true, "%d runs of %d calls that were approved", runs, total.Approved)
	t.Logf("%d kills and a restart of the database in %v; by the replicas that were alive in the end: %d calls, %d refreshes in all, %d calls asked, %d made by an answer, other answers %v; %d runs",
		kills, time.Since(began).Round(time.Second), total.Calls, as.Granted("refresh_token"), total.Asked, total.Approved, total.Answers, runs)
	assert.OK(t, base.close())
}
