package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

const inPostgres = "PostgreSQL"

// logins keeps N logins in PostgreSQL.
func logins() axis {
	return axis{
		name: "logins", counts: "logins in the database",
		about: "PostgreSQL keeps N logins, sealed, with an access token of 1,000 bytes each. They are loaded one after the other, in no order, " +
			"for a second.",
		subjects: []string{inPostgres}, sizes: []int{1_000, 10_000, 100_000},
		plots:   []string{"load, µs", "table, MB", "index, MB"},
		measure: measureLogins,
	}
}

// renewals renews logins that PostgreSQL keeps.
func renewals() axis {
	return axis{
		name: "renewals", counts: "renewals at one time",
		about: "400 logins in PostgreSQL, whose access tokens have ended, are renewed, N at one time: an authorization server without " +
			"limits, a process of its own, is asked for tokens, and each renewal is saved twice under a lease. PostgreSQL flushes each to the disk.",
		subjects: []string{inPostgres}, sizes: []int{1, 8, 32},
		plots:   []string{"renewals/s", "CPU per renewal, µs", "PostgreSQL CPU per renewal, µs"},
		measure: measureRenewals,
	}
}

// runOAuth is the process of an authorization server and a server that it protects. It writes the URL of that.
func runOAuth(stdout io.Writer) error {
	as, err := authtest.New(&authtest.Options{NoRecord: true, TokenLifetime: time.Second, Answer: func(_ *http.Request, answer map[string]any) {
		answer["access_token"] = strings.Repeat(rand.Text(), 1_000/26+1)[:1_000]
	}})
	if err != nil {
		return err
	}
	defer as.Close()
	_, err = fmt.Fprintln(stdout, as.Protect(http.NotFoundHandler(), nil).URL)
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return err
}

// A keep is a manager of logins in a database, with its servers.
type keep struct {
	oauth    *webServer
	database *postgres
	tables   *sqlstore.Database
	store    *seal.Store
	sessions *session.Manager
	browser  *http.Client
}

func openKeep(ctx context.Context) (k *keep, err error) {
	k = &keep{browser: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	if k.oauth, err = startWebServer(roleOAuth); err != nil {
		return k, err
	}
	if k.database, err = startPostgres(ctx); err != nil {
		return k, err
	}
	k.database.db.SetMaxOpenConns(32)
	k.database.db.SetMaxIdleConns(32)
	k.tables, err = sqlstore.New(k.database.db, sqlstore.PostgreSQL, &sqlstore.Options{WaitForNotification: func(ctx context.Context, driverConn any) (string, error) {
		n, err := driverConn.(*stdlib.Conn).Conn().WaitForNotification(ctx)
		if err != nil {
			return "", err
		}
		return n.Payload, nil
	}})
	if err == nil {
		err = k.tables.Migrate(ctx)
	}
	if err == nil {
		k.store, err = seal.NewStore(ctx, k.tables.Store("sessions"), seal.StaticKey(auth.Secret(strings.Repeat("k", 32))))
	}
	if err != nil {
		return k, err
	}
	config := &auth.Config{Server: "growth", URL: k.oauth.base}
	k.sessions, err = session.NewManager(k.store, &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return config, nil },
		RedirectURL: "http://127.0.0.1:1/callback",
	})
	return k, err
}

func (k *keep) close() error {
	k.browser.CloseIdleConnections()
	var errs []error
	if k.sessions != nil {
		errs = append(errs, k.sessions.Close())
	}
	if k.store != nil {
		errs = append(errs, k.store.Close())
	}
	if k.database != nil {
		errs = append(errs, k.database.close())
	}
	if k.oauth != nil {
		errs = append(errs, k.oauth.close())
	}
	return errors.Join(errs...)
}

func loginKey(i int) session.Key {
	return session.Key{User: fmt.Sprintf("user%d", i), Server: "growth"}
}

// logIn logs a user in, whose browser agrees at once.
func (k *keep) logIn(ctx context.Context, i int) error {
	login, err := k.sessions.Login(ctx, loginKey(i))
	if err != nil {
		return err
	}
	res, err := k.browser.Get(login.URL)
	if err != nil {
		return err
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	_, err = k.sessions.Complete(ctx, res.Header.Get("Location"), nil)
	return err
}

// token returns the access token of a user, which is renewed if it has ended.
func (k *keep) token(ctx context.Context, i int) (string, error) {
	header := http.Header{}
	err := k.sessions.Handler(loginKey(i)).Authenticate(ctx, header, http.MethodPost, k.oauth.base, nil)
	return header.Get("Authorization"), err
}

// forEach does something for each of n users, so many at one time, and returns how long that takes, in seconds.
func forEach(n, atOnce int, do func(i int) error) (float64, error) {
	errs := make([]error, atOnce)
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range atOnce {
		wg.Go(func() {
			for i := int(next.Add(1) - 1); i < n && errs[w] == nil; i = int(next.Add(1) - 1) {
				errs[w] = do(i)
			}
		})
	}
	wg.Wait()
	return time.Since(begin).Seconds(), errors.Join(errs...)
}

func measureRenewals(ctx context.Context, p point) (f figures, err error) {
	k, err := openKeep(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	const users = 400
	first := make([]string, users)
	if _, err := forEach(users, 16, func(i int) error {
		err := k.logIn(ctx, i)
		if err == nil {
			first[i], err = k.token(ctx, i)
		}
		return err
	}); err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Second) // a token is used for that long
	own, database := busy(), k.database.busy()
	took, err := forEach(users, p.N, func(i int) error {
		token, err := k.token(ctx, i)
		if token == first[i] {
			return errors.Join(err, errors.New("the token was not renewed"))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return figures{
		"renewals/s":                     users / took,
		"CPU per renewal, µs":            1e6 * (busy() - own) / users,
		"PostgreSQL CPU per renewal, µs": 1e6 * (k.database.busy() - database) / users,
	}, nil
}

func measureLogins(ctx context.Context, p point) (f figures, err error) {
	k, err := openKeep(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if err := k.logIn(ctx, 0); err != nil {
		return nil, err
	}
	// The others are copies under other names, which nothing unseals.
	db := k.database.db
	for _, query := range []string{
		"DELETE FROM mcpbelt_records WHERE namespace <> 'sessions' OR name NOT LIKE 's-%'",
		fmt.Sprintf(`INSERT INTO mcpbelt_records SELECT namespace, 's-' || left(encode(sha256(i::text::bytea), 'hex'), length(name) - 2), data, revision
			FROM mcpbelt_records, generate_series(1, %d) i`, p.N-1),
		"VACUUM (FULL, ANALYZE) mcpbelt_records",
		"CHECKPOINT",
	} {
		if _, err := db.ExecContext(ctx, query); err != nil {
			return nil, err
		}
	}
	var rows, table, index float64
	if err := db.QueryRowContext(ctx, "SELECT count(*), pg_table_size('mcpbelt_records'), pg_indexes_size('mcpbelt_records') FROM mcpbelt_records").Scan(&rows, &table, &index); err != nil {
		return nil, err
	}
	if int(rows) != p.N {
		return nil, fmt.Errorf("got %v rows, want %d", rows, p.N)
	}
	names, err := db.QueryContext(ctx, "SELECT name FROM mcpbelt_records ORDER BY random() LIMIT 20000")
	if err != nil {
		return nil, err
	}
	var all []string
	for names.Next() {
		var name string
		if err := names.Scan(&name); err != nil {
			return nil, errors.Join(err, names.Close())
		}
		all = append(all, name)
	}
	if err := errors.Join(names.Err(), names.Close()); err != nil {
		return nil, err
	}
	store := k.tables.Store("sessions")
	loads := 0
	own, database, begin := busy(), k.database.busy(), time.Now()
	for time.Since(begin) < time.Second {
		if _, err := store.Load(ctx, all[loads%len(all)], ""); err != nil {
			return nil, err
		}
		loads++
	}
	took := time.Since(begin)
	return figures{
		"load, µs":                    micros(took) / float64(loads),
		"CPU per load, µs":            1e6 * (busy() - own) / float64(loads),
		"PostgreSQL CPU per load, µs": 1e6 * (k.database.busy() - database) / float64(loads),
		"table, MB":                   table / 1e6,
		"index, MB":                   index / 1e6,
	}, nil
}
