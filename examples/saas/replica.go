package main

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A site is one replica.
type site struct {
	name, url string
	records   func(namespace string) storage.Store // that all replicas share
	keys      seal.KeySource
	cookieKey []byte
	outward   *http.Transport // to the servers of users
	rules     *policy.Policy  // which calls wait for the user
	offices   *offices
	pages     *template.Template

	ctx    context.Context // of the agents
	agents sync.WaitGroup
}

// runReplica runs a replica until ctx ends, and writes its address.
func runReplica(ctx context.Context, out io.Writer) error {
	db, d, err := openDatabase(ctx, os.Getenv(databaseEnv))
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := newSite(ctx, os.Getenv(nameEnv), os.Getenv(urlEnv), auth.Secret(os.Getenv(keyEnv)), d.Store)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	go s.offices.sweep(ctx)
	fmt.Fprintln(out, listener.Addr())
	<-ctx.Done()
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	err = web.Shutdown(closing)
	<-served
	s.close()
	return err
}

// newSite returns a replica that works until ctx ends. Close it then.
func newSite(ctx context.Context, name, url string, key auth.Secret, records func(string) storage.Store) (*site, error) {
	keys, err := seal.ParseKeys(key)
	if err != nil {
		return nil, err
	}
	cookieKey, err := hkdf.Key(sha256.New, []byte(keys.Current.Reveal()), nil, "cookies", 32)
	if err != nil {
		return nil, err
	}
	yes := true
	rules, err := policy.New(approval.Ask,
		policy.Rule{Verdict: approval.Allow, Native: &yes},
		policy.Rule{Verdict: approval.Allow, Trusted: &yes, ReadOnly: &yes})
	if err != nil {
		return nil, err
	}
	s := &site{
		name: name, url: url, records: records, keys: seal.StaticKey(keys.Current, keys.Old...), cookieKey: cookieKey, rules: rules,
		outward: &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second, Control: refusePrivate}).DialContext, IdleConnTimeout: time.Minute},
		pages:   template.Must(template.New("").Parse(pagesHTML)), ctx: ctx,
	}
	s.offices = &offices{open: s.openOffice, rooms: map[string]*room{}}
	return s, nil
}

// close waits for the agents, and closes all offices. Requests have ended before.
func (s *site) close() {
	s.agents.Wait()
	s.offices.close()
	s.outward.CloseIdleConnections()
}

// openDatabase opens what the replicas share. All of them may do so at once.
func openDatabase(ctx context.Context, url string) (*sql.DB, *sqlstore.Database, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(20)
	d, err := sqlstore.New(db, sqlstore.PostgreSQL, &sqlstore.Options{
		WaitForNotification: func(ctx context.Context, driverConn any) (string, error) {
			n, err := driverConn.(*stdlib.Conn).Conn().WaitForNotification(ctx)
			if err != nil {
				return "", err
			}
			return n.Payload, nil
		},
	})
	if err == nil {
		err = d.Migrate(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, d, nil
}

// refusePrivate refuses connections to the networks around the service, to which its users have no right. The
// servers of the example are on loopback addresses: a real service refuses those as well.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if ip := at.Addr().Unmap(); err != nil || !ip.IsLoopback() && (ip.IsPrivate() || !ip.IsGlobalUnicast()) {
		return errors.New("this address is not a public one")
	}
	return nil
}
