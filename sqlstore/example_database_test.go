package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// exampleDatabase is a database in memory. A program opens a file, or a server.
func exampleDatabase(ctx context.Context) (d *sqlstore.Database, done func()) {
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	d, err = sqlstore.New(db, sqlstore.SQLite, nil)
	if err == nil {
		err = d.Migrate(ctx)
	}
	if err != nil {
		panic(err)
	}
	return d, func() { _ = db.Close() }
}

func ExampleNew() {
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	d, err := sqlstore.New(db, sqlstore.SQLite, &sqlstore.Options{Prefix: "agent_"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Migrate(context.Background()))
	// Output: <nil>
}

func ExampleDatabase_Activity() {
	ctx := context.Background()
	d, done := exampleDatabase(ctx)
	defer done()
	sink := d.Activity(&sqlstore.ActivityOptions{KeepEvents: 1_000_000})
	log := activity.New(nil, sink)
	log.Record(ctx, activity.Event{Kind: "call", User: "ann", Server: "github", Tool: "create_issue", Outcome: "ok"})
	log.Record(ctx, activity.Event{Kind: "call", User: "bob", Server: "github", Tool: "create_issue", Outcome: "ok"})
	if err := log.Close(ctx); err != nil {
		fmt.Println(err)
	}
	for e, err := range sink.Events(ctx, &activity.Filter{User: "ann"}) {
		fmt.Println(e.User, e.Tool, err)
	}
	// Output: ann create_issue <nil>
}

func ExampleDatabase_Store_ledger() {
	ctx := context.Background()
	d, done := exampleDatabase(ctx)
	defer done()
	accepted, err := ledger.Load(ctx, d.Store("agent"), "ledger", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := registry.New(&registry.Options{Ledger: accepted})
	fmt.Println(len(r.Snapshot().Tools()))
	// Output: 0
}

func ExampleDatabase_Store() {
	ctx := context.Background()
	d, done := exampleDatabase(ctx)
	defer done()
	sessions := d.Store("sessions") // goes into seal.NewStore, which seals what it keeps
	_, err := sessions.Save(ctx, "ann.github", []byte("sealed"), "")
	fmt.Println(err)
	for name := range sessions.Names(ctx, "ann.") {
		fmt.Println(name)
	}
	// Output:
	// <nil>
	// ann.github
}

func ExampleDatabase_Store_servers() {
	ctx := context.Background()
	d, done := exampleDatabase(ctx)
	defer done()
	servers := record.NewStore(d.Store("agent"), "servers")
	if _, err := servers.Save(ctx, "", &config.Server{Name: "notes", Command: "notes-server"}, ""); err != nil {
		fmt.Println(err)
	}
	all, err := servers.Records(ctx)
	for _, s := range all {
		fmt.Println(s.Record.Title, s.Record.Command)
	}
	fmt.Println(err)
	// Output:
	// notes notes-server
	// <nil>
}

// openReplica opens what a replica shares with the others.
func openReplica(ctx context.Context, url string, keys seal.KeySource) (*host.Host, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	d, err := sqlstore.New(db, sqlstore.PostgreSQL, &sqlstore.Options{
		WaitForNotification: func(ctx context.Context, driverConn any) (string, error) {
			n, err := driverConn.(*stdlib.Conn).Conn().WaitForNotification(ctx)
			if err != nil {
				return "", err
			}
			return n.Payload, nil
		},
	})
	if err != nil {
		return nil, err
	}
	if err := d.Migrate(ctx); err != nil {
		return nil, err
	}
	accepted, err := ledger.Load(ctx, d.Store("agent"), "ledger", nil)
	if err != nil {
		return nil, err
	}
	go accepted.Follow(ctx)
	allowed, err := consent.Load(ctx, d.Store("agent"), "consents")
	if err != nil {
		return nil, err
	}
	sealed, err := seal.NewStore(ctx, d.Store("servers"), keys)
	if err != nil {
		return nil, err
	}
	m, err := manage.OpenStore(ctx, record.NewStore(sealed, "servers"), &manage.Options{Host: host.Options{
		Follow:   true,
		Registry: registry.New(&registry.Options{Ledger: accepted}),
		Consents: allowed,
	}})
	if err != nil {
		return nil, err
	}
	return m.Host(), nil
}

// joinReplicas lets the others reach what is under way here.
func joinReplicas(ctx context.Context, store *seal.Store, url string, open func(*replica.Member) (*host.Host, error)) (http.Handler, *replica.Member, error) {
	m, err := replica.Join(ctx, store, &replica.Options{URL: url})
	if err != nil {
		return nil, nil, err
	}
	h, err := open(m) // its registry has m.ID() as Replica in its approval.Options, and m.Approver(policy)
	if err != nil {
		return nil, nil, err
	}
	if err := m.Attach(h.Registry()); err != nil {
		return nil, nil, err
	}
	g, err := gateway.New(h, &gateway.Options{Replica: m.ID(), Anonymous: true})
	if err != nil {
		return nil, nil, err
	}
	return m.Handler(g), m, nil
}

func Example_replicas() {
	_, _ = openReplica, joinReplicas // they need a server
}
