// Sqlstore keeps the record of a server in SQLite.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	_ "modernc.org/sqlite"
)

func main() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(os.TempDir(), "agent.db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	d, err := sqlstore.New(db, sqlstore.SQLite, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	servers := record.NewStore(d.Store("agent"), "servers")
	if _, err := servers.Save(ctx, "", &record.Record{Name: "notes", Command: "notes-server"}, ""); err != nil {
		log.Fatal(err)
	}
	all, err := servers.Records(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", all[0].Record)
}

// Output: ok notes (stdio: notes-server)
