// Package sqlstore keeps what a host and its sessions remember in a SQL database:
// logins, accepted tools, allowed launches, the records of servers, and the log of
// what was done. Many processes on many machines may share one database.
//
// # Open a database
//
// The package works over a *sql.DB and brings no driver. [New] says which dialect the
// database speaks, and [Database.Migrate] makes its tables or brings them up to date:
//
//	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
//	d, err := sqlstore.New(db, sqlstore.PostgreSQL, nil)
//	err = d.Migrate(ctx)
//
// It is tested with SQLite by modernc.org/sqlite and with PostgreSQL 15 by
// github.com/jackc/pgx. Other drivers of the two should do.
//
// SQLite lets one writer in at a time. Have each connection wait for its turn and use
// the write-ahead log, in the words of modernc.org/sqlite:
//
//	file:agent.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)
//
// Saved data survives a loss of power if the database is set to see to that:
// synchronous=FULL in SQLite, synchronous_commit=on in PostgreSQL, which are the
// defaults.
//
// # Keep records
//
// [Database.Store] is a storage.Store for each namespace:
//
//	sessions, err := seal.NewStore(ctx, d.Store("sessions"), keys)
//	accepted, err := ledger.Load(ctx, d.Store("agent"), "ledger", nil)
//	book, err := consent.Load(ctx, d.Store("agent"), "consents", nil)
//	servers := record.NewStore(d.Store("agent"), "servers")
//	statuses := record.NewStatuses(d.Store("agent"), "statuses")
//
// Of logins the database holds no token in clear, only names, sizes and times. It cannot
// lock; of several processes that renew one login, the session's journal lets one do it.
// The records of servers are kept as they were written: write ${keyring:name} or
// ${env:NAME} in place of a secret that the database must not hold.
//
// # Keep the log
//
// [Database.Activity] is a sink of an activity.Log, reads events, and deletes old
// ones.
package sqlstore
