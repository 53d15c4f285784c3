package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	// pollServer and pollFile are how often the records that are watched are looked at, in
	// PostgreSQL and in SQLite. With the look itself it is no more than storage.Watcher allows.
	pollServer = 2900 * time.Millisecond
	pollFile   = time.Second
	// lookPause is the least time between two looks, and lookTime bounds one.
	lookPause = 50 * time.Millisecond
	lookTime  = 5 * time.Second
	// notifyPause is the least time between two notifications about a namespace by one
	// process. So a watcher that was notified looks again after lookAgain, which is longer.
	notifyPause = 250 * time.Millisecond
	lookAgain   = 500 * time.Millisecond
	// listenTime is how long nothing is heard before the connection is tried.
	listenTime  = 30 * time.Second
	listenRetry = time.Second
)

// Watch implements storage.Watcher. It reads the revisions of the records that begin with
// prefix every 3 seconds, in SQLite each second, and at once if this Database has changed one, or a
// notification has come: watch few records of a large namespace, not all. It tells no
// record twice for one change, also after the database was away.
func (s *store) Watch(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		const op = "watch the records"
		bell, leave := s.db.watches.enter(s.db, s.namespace)
		defer leave()
		var rung <-chan struct{}
		list := func(ctx context.Context) (map[string]storage.Revision, error) {
			rung = bell.Rung()
			if err := s.begin(ctx, op, "any"); err != nil {
				return nil, err
			}
			now, err := s.revisions(ctx, prefix)
			if err != nil {
				return nil, fail(ctx, op, ctx.Err()) // it cannot be reached
			}
			return now, nil
		}
		heard := false
		wait := func(ctx context.Context) error {
			if err := feed.Sleep(ctx, lookPause); err != nil {
				return fail(ctx, op, err)
			}
			pause := s.db.poll
			if heard {
				pause = lookAgain
			}
			timer := time.NewTimer(pause)
			defer timer.Stop()
			select {
			case <-rung:
				heard = true
			case <-timer.C:
				heard = false
			case <-ctx.Done():
			}
			return fail(ctx, op, ctx.Err())
		}
		feed.Changes(ctx, list, wait)(yield)
	}
}

// revisions returns the revisions of the records that begin with prefix.
func (s *store) revisions(ctx context.Context, prefix string) (map[string]storage.Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	all := map[string]storage.Revision{}
	err := s.db.rows(ctx, `SELECT name, revision FROM {p}records WHERE namespace = ? AND name >= ? AND name < ?`,
		[]any{s.namespace, prefix, prefix + behindNames}, func(rows *sql.Rows) error {
			var name string
			var at storage.Revision
			err := rows.Scan(&name, &at)
			all[name] = at
			return err
		})
	return all, err
}

// watches are those of a Database. While there are any, and it can be notified, one
// goroutine listens with one connection for all.
type watches struct {
	mu       sync.Mutex // guards what follows
	all      map[string]*watched
	stop     context.CancelFunc // ends the goroutine; nil: there is none
	done     chan struct{}      // closed when it has ended
	notified map[string]time.Time
}

// watched is a namespace with the number of its watches.
type watched struct {
	bell  feed.Bell
	count int
}

// enter adds a watch of a namespace. The bell is rung when its records may have changed.
func (w *watches) enter(d *Database, namespace string) (bell *feed.Bell, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]*watched{}
	}
	n := w.all[namespace]
	if n == nil {
		n = &watched{}
		w.all[namespace] = n
	}
	n.count++
	if w.stop == nil && d.canBeNotified() {
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		w.stop, w.done = stop, done
		go func() {
			defer close(done)
			d.listen(ctx)
		}()
	}
	return &n.bell, func() { w.leave(namespace, n) }
}

// leave removes a watch. With the last one it waits for the goroutine to end.
func (w *watches) leave(namespace string, n *watched) {
	w.mu.Lock()
	if n.count--; n.count == 0 {
		delete(w.all, namespace)
	}
	stop, done := w.stop, w.done
	if len(w.all) > 0 || stop == nil {
		w.mu.Unlock()
		return
	}
	w.stop = nil
	w.mu.Unlock()
	stop()
	<-done
}

// ring wakes the watches of a namespace.
func (w *watches) ring(namespace string) {
	w.mu.Lock()
	n := w.all[namespace]
	w.mu.Unlock()
	if n != nil {
		n.bell.Ring()
	}
}

// ringAll wakes all watches.
func (w *watches) ringAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.all {
		n.bell.Ring()
	}
}

// due reports whether a notification about a namespace is due.
func (w *watches) due(namespace string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.Sub(w.notified[namespace]) >= notifyPause
}

// sent notes when a notification was begun that was sent. Later changes until notifyPause
// is over are seen by those who look again.
func (w *watches) sent(namespace string, begun time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.notified == nil {
		w.notified = map[string]time.Time{}
	}
	w.notified[namespace] = begun
}

func (d *Database) canBeNotified() bool {
	return d.dialect == PostgreSQL && d.waitForNotification != nil
}

// tell tells of a change in a namespace, here and elsewhere. If it cannot, others find
// out when they look the next time.
func (d *Database) tell(ctx context.Context, namespace string) {
	d.watches.ring(namespace)
	now := time.Now()
	if !d.canBeNotified() || !d.watches.due(namespace, now) {
		return
	}
	if _, err := d.db.ExecContext(ctx, `SELECT pg_notify($1, $2)`, d.channel(), namespace); err == nil {
		d.watches.sent(namespace, now)
	}
}

// channel returns the name of the channel of notifications.
func (d *Database) channel() string {
	return fmt.Sprintf("mcpbelt_%016x", uint64(d.hash()))
}

// hash returns a number for the prefix.
func (d *Database) hash() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("mcpbelt sqlstore " + d.prefix))
	return int64(h.Sum64())
}

// listen rings when notifications come, until ctx ends. While it is not connected the
// watches look by themselves.
func (d *Database) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = d.listenOnce(ctx)
		_ = feed.Sleep(ctx, listenRetry)
	}
}

// listenOnce listens until the connection fails.
func (d *Database) listenOnce(ctx context.Context) error {
	connecting, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	conn, err := d.db.Conn(connecting)
	if err != nil {
		return err
	}
	defer func() {
		// It listens, and so is of no use to others.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	if _, err := conn.ExecContext(connecting, "LISTEN "+d.channel()); err != nil {
		return err
	}
	d.watches.ringAll() // what has changed before
	for {
		namespace, err := d.awaitNotification(ctx, conn)
		switch {
		case err == nil:
			d.watches.ring(namespace)
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		default:
			pinging, cancel := context.WithTimeout(ctx, lookTime)
			err := conn.PingContext(pinging)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}

// awaitNotification waits for a notification, for listenTime at most.
func (d *Database) awaitNotification(ctx context.Context, conn *sql.Conn) (namespace string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listenTime)
	defer cancel()
	err = conn.Raw(func(driverConn any) error {
		var err error
		namespace, err = d.waitForNotification(ctx, driverConn)
		return err
	})
	return namespace, err
}
