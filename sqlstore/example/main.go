// Example is one replica of a service of many users, who each have MCP servers, logins and an agent
// of their own. Any number of replicas share one PostgreSQL, behind any load balancer:
//
//	export SAAS_KEY=$(openssl rand -base64 32) SAAS_DATABASE=postgres://...
//	go run ./example -addr 127.0.0.1:8081 -url http://127.0.0.1:8080
//	go run ./example -addr 127.0.0.1:8082 -url http://127.0.0.1:8080
//
// All of a user is in two namespaces of the database, sealed with the key: servers, logins, accepted
// tools and the transcript in user/NAME, calls that wait in calls/NAME. A call is made once, on the
// replica where it waits; if that dies the agent makes it again, and the user is asked again.
//
// Before it serves strangers, put a sign-in of your own in the place of signIn, serve https with
// Secure on the cookie, refuse loopback addresses in refusePrivate, and ask a real model in agent.go.
package main

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
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
	"github.com/mcpbelt/mcpbelt/transport"
)

//go:embed pages.html
var pagesHTML string

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen at, also the name of the replica")
	url := flag.String("url", "http://127.0.0.1:8080", "`URL` of the service, as browsers see it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *url, os.Getenv("SAAS_DATABASE"), auth.Secret(os.Getenv("SAAS_KEY"))); err != nil {
		stop()
		log.Fatal("example: ", err)
	}
}

// run runs a replica until ctx ends.
func run(ctx context.Context, addr, url, database string, key auth.Secret) error {
	db, d, err := openDatabase(ctx, database)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := newSite(ctx, addr, url, key, d.Store)
	if err != nil {
		return err
	}
	defer s.close()
	web := &http.Server{Addr: addr, Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- web.ListenAndServe() }()
	fmt.Println("Open", url)
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	err = web.Shutdown(closing)
	<-served
	return err
}

// A site is one replica.
type site struct {
	name, url string
	records   func(namespace string) storage.Store // that all replicas share
	keys      seal.KeySource
	cookieKey []byte
	outward   *http.Transport // to the servers of users
	rules     *policy.Policy  // which calls wait for the user
	pages     *template.Template

	ctx    context.Context // of the agents
	agents sync.WaitGroup

	mu      sync.Mutex // guards the following
	offices map[string]func() (*office, error)
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
	return &site{
		name: name, url: url, records: records, keys: seal.StaticKey(keys.Current, keys.Old...), cookieKey: cookieKey, rules: rules,
		outward: &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second, Control: refusePrivate}).DialContext, IdleConnTimeout: time.Minute},
		pages:   template.Must(template.New("").Parse(pagesHTML)), ctx: ctx, offices: map[string]func() (*office, error){},
	}, nil
}

// close waits for the agents, and closes all offices. Requests have ended before.
func (s *site) close() {
	s.agents.Wait()
	for _, open := range s.offices {
		if o, err := open(); err == nil {
			if err := o.close(); err != nil {
				log.Print(err)
			}
		}
	}
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

// refusePrivate refuses connections to the networks around the service, to which its users have no right.
func refusePrivate(network, address string, conn syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && at.Addr().Unmap().IsLoopback() {
		return nil
	}
	return transport.PublicOnly(network, address, conn)
}
