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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
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
	stormUsers    = "SQLSTORE_STORM_USERS"
	stormReturn   = "http://127.0.0.1:1/callback"
)

func init() { children[stormDSN] = runStormReplica }

// must ends a replica that cannot go on.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
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

func openStormBase(ctx context.Context, dsn, resource, key string) *stormBase {
	b := &stormBase{db: must(sql.Open("pgx", dsn))}
	b.db.SetMaxOpenConns(20)
	b.database = must(sqlstore.New(b.db, sqlstore.PostgreSQL, &sqlstore.Options{WaitForNotification: waitForNotification}))
	must(0, b.database.Migrate(ctx))
	b.store = must(seal.NewStore(ctx, b.database.Store("sessions"), seal.StaticKey(auth.Secret(key))))
	config := &auth.Config{Server: "storm", URL: resource}
	b.sessions = must(session.NewManager(b.store, &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return config, nil },
		RedirectURL: stormReturn,
	}))
	return b
}

func (b *stormBase) close() error {
	return errors.Join(b.sessions.Close(), b.store.Close(), b.db.Close())
}

// A stormReport tells what became of calls and approvals.
type stormReport struct {
	Failed   map[string]int // calls that failed or need a login, by the reason
	Approved []string       // calls that were made by an answer of this replica, or of another one at the same time
	Refused  []int          // users whose call in the last round was not let in
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

// runStormReplica makes calls until it reads a line; then it makes one for each user, and
// writes its report.
func runStormReplica(dsn string) {
	ctx := context.Background()
	resource := os.Getenv(stormResource)
	r := &stormReplica{
		stormBase: openStormBase(ctx, dsn, resource, os.Getenv(stormKey)), resource: resource,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, report: stormReport{Failed: map[string]int{}},
	}
	r.member = must(replica.Join(ctx, r.database.Store("replicas"), &replica.Options{Every: 200 * time.Millisecond}))
	r.registry = registry.New(&registry.Options{
		Approvals: approval.Options{Replica: r.member.ID()},
		Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask}, nil
		}),
	})
	must(0, r.registry.Add(registry.MustFunc("act", "Act once.", func(ctx context.Context, in struct{ ID string }) (string, error) {
		_, err := r.db.ExecContext(ctx, "INSERT INTO storm_runs (id) VALUES ($1)", in.ID)
		return in.ID, err
	})))
	must(0, r.member.Attach(r.registry))
	users := must(strconv.Atoi(os.Getenv(stormUsers)))
	raging, calm := context.WithCancel(ctx)
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
	in.Scan()
	calm()
	all.Wait()
	for i := range users {
		if !r.call(i) {
			r.report.Refused = append(r.report.Refused, i)
		}
	}
	must(0, json.NewEncoder(os.Stdout).Encode(&r.report))
	in.Scan() // until all have made their last calls
	must(0, errors.Join(r.member.Close(ctx), r.close()))
}

// call makes a call of a user as a transport does, and reports whether it was let in.
func (r *stormReplica) call(user int) bool {
	err := r.try(r.sessions.Handler(stormUser(user)))
	if err == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var required *auth.LoginRequiredError
	if errors.As(err, &required) {
		r.report.Failed["login: "+required.Reason]++
	} else {
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
		_, _ = r.registry.Call(session.WithUser(context.WithoutCancel(ctx), "ada"), "act", fmt.Appendf(nil, `{"ID":%q}`, rand.Text()))
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
				if _, err := r.member.Approve(ctx, req.ID, nil); err == nil {
					r.mu.Lock()
					defer r.mu.Unlock()
					r.report.Approved = append(r.report.Approved, req.ID)
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
	p.cmd.Env = append(os.Environ(), stormDSN+"="+dsn, stormResource+"="+resource, stormKey+"="+key, fmt.Sprint(stormUsers, "=", users))
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
	as := authtest.NewServer(t, &authtest.Options{TokenLifetime: 5 * time.Second, Grace: 10 * time.Minute})
	rs := as.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }), nil)
	key := strings.Repeat("k", 32)
	ctx := t.Context()
	base := openStormBase(ctx, pg.URL, rs.URL, key)
	assert.Value(base.db.ExecContext(ctx, "CREATE TABLE storm_runs (id text)"))(t)
	next := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range next {
				k := stormUser(i)
				login := assert.Value(base.sessions.Login(ctx, k))(t)
				assert.Value(base.sessions.Complete(ctx, assert.Value(as.ApproveAs(ctx, k.User, login.URL))(t), nil))(t)
			}
		})
	}
	for i := range users {
		next <- i
	}
	close(next)
	all.Wait()

	start := func() *stormProcess { return startStormProcess(t, pg.URL, rs.URL, key, users) }
	processes := make([]*stormProcess, replicas)
	for i := range processes {
		processes[i] = start()
	}
	for _, p := range processes {
		p.ready(t)
	}
	began, restarted := time.Now(), false
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
	}
	for _, p := range processes {
		assert.Value(io.WriteString(p.in, "last\n"))(t)
	}
	approved := map[string]bool{}
	for _, p := range processes {
		var r stormReport
		assert.OK(t, p.out.Decode(&r))
		for _, id := range r.Approved {
			approved[id] = true
		}
		assert.Equal(t, fmt.Sprint(r.Failed), "map[]", "calls that failed")
		assert.Equal(t, fmt.Sprint(r.Refused), "[]", "users whose calls are not let in at the end")
	}
	for _, p := range processes {
		_, _ = io.WriteString(p.in, "end\n")
		assert.OK(t, p.cmd.Wait(), "a replica")
	}
	assert.Equal(t, as.Revoked(), 0, "logins revoked")
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
	assert.True(t, runs >= max(len(approved), 1), "%d runs of %d calls that were approved", runs, len(approved))
	assert.OK(t, base.close())
}
