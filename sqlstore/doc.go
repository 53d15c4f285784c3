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
// github.com/jackc/pgx and github.com/lib/pq, which cannot wait for notifications. Other drivers of the two
// should do.
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
//	book, err := consent.Load(ctx, d.Store("agent"), "consents")
//	servers := record.NewStore(d.Store("agent"), "servers")
//	statuses := record.NewStatuses(d.Store("agent"), "statuses")
//
// Of logins the database holds no token in clear, only names, sizes and times. The records of
// servers are kept as they were written, unless their store is sealed too:
//
//	sealed, err := seal.NewStore(ctx, d.Store("servers"), keys)
//	servers := record.NewStore(sealed, "servers")
//
// # Share it among replicas
//
// A store tells of changes, see [storage.Watcher]: ledger.Ledger.Follow, record.Changes and
// host.Options.Follow use that. In PostgreSQL the records that are watched are looked at every 3
// seconds, in SQLite each second; one query by the primary key for each watch. With
// [Options].WaitForNotification a change is told by NOTIFY, and looked at at once. With pgx that is:
//
//	func wait(ctx context.Context, driverConn any) (payload string, err error) {
//		n, err := driverConn.(*stdlib.Conn).Conn().WaitForNotification(ctx)
//		if err != nil {
//			return "", err
//		}
//		return n.Payload, nil
//	}
//
// One connection of the pool listens for all watches of a [Database]. A process sends at most four
// notifications a second about a namespace, so that many logins do not queue for the
// lock that PostgreSQL takes at each.
//
// A store gives leases, see [storage.Leaser], which end by the clock of the database. It is no
// [storage.Locker]: a lock has to last until its process ends, which a database cannot see. Of several
// processes that renew one login, one holds a lease, and the session's journal tells what it
// did. A process that stands still for 10 seconds while it sends a refresh token may find that another one has
// sent it too.
//
// # Update the tables
//
// A release that needs other tables makes them by [Database.Migrate]. A release before it then
// gets a [VersionError] when it is started next. There is no way back to earlier tables.
//
// # Behind pgbouncer
//
// Tried with pgbouncer 1.18 and pgx 5.12, whose setting default_query_exec_mode=exec keeps it
// from preparing statements:
//
//	pool_mode     records, leases, changes  the log  Migrate  WaitForNotification
//	session       work                      works    works    works
//	transaction   work                      works    works    leave it out: changes are seen by looking
//	statement     work                      no       no       leave it out
//
// [Activity] and [Database.Migrate] need transactions.
//
// # While the database is away
//
// Each call fails at once if connections are refused, and when its context ends if
// they hang: give each call a deadline. Nothing is kept that a call did not report as
// kept, but what a call reported as failed may have been kept. Watches wait, and tell later what has changed
// meanwhile. Nothing has to be opened again.
//
// # Keep the log
//
// [Database.Activity] is a sink of an activity.Log, reads events, and deletes old
// ones as [ActivityOptions] say.
package sqlstore
