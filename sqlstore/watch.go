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
		w := s.db.watches.enter(s.db, s.namespace)
		defer s.db.watches.leave(w)
		var known map[string]storage.Revision // nil: they were never read
		pause := s.db.poll
		for {
			if err := s.do(ctx, "watch the records", "any", func() error { return nil }); err != nil {
				yield("", err)
				return
			}
			if now, err := s.revisions(ctx, prefix); err == nil { // otherwise the database cannot be reached
				if !yieldChanges(known, now, yield) {
					return
				}
				known = now
			}
			again := time.After(pause)
			select {
			case <-time.After(lookPause):
			case <-ctx.Done():
			}
			pause = s.db.poll
			select {
			case <-w.rung:
				pause = lookAgain
			case <-again:
			case <-ctx.Done():
			}
		}
	}
}

// yieldChanges yields the names whose revisions differ, the empty one if none were known, and reports whether
// the loop goes on.
func yieldChanges(known, now map[string]storage.Revision, yield func(string, error) bool) bool {
	if known == nil {
		return yield("", nil)
	}
	for name, at := range now {
		if was, ok := known[name]; (!ok || was != at) && !yield(name, nil) {
			return false
		}
	}
	for name := range known {
		if _, ok := now[name]; !ok && !yield(name, nil) {
			return false
		}
	}
	return true
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
	all      map[*watch]bool
	stop     context.CancelFunc   // ends the goroutine; nil: there is none
	done     chan struct{}        // closed when it has ended
	notified map[string]time.Time // by namespace
}

// A watch is one of a namespace.
type watch struct {
	namespace string
	rung      chan struct{} // capacity 1: the records may have changed
}

// enter adds a watch of a namespace.
func (w *watches) enter(d *Database, namespace string) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &watch{namespace, make(chan struct{}, 1)}
	w.all[one] = true
	if w.stop == nil && d.canBeNotified() {
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		w.stop, w.done = stop, done
		go func() {
			defer close(done)
			d.listen(ctx)
		}()
	}
	return one
}

// leave removes a watch. With the last one it waits for the goroutine to end.
func (w *watches) leave(one *watch) {
	w.mu.Lock()
	delete(w.all, one)
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

// ring wakes the watches of which that is true.
func (w *watches) ring(is func(*watch) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		if !is(one) {
			continue
		}
		select {
		case one.rung <- struct{}{}:
		default:
		}
	}
}

func (d *Database) canBeNotified() bool {
	return d.dialect == PostgreSQL && d.waitForNotification != nil
}

// tell tells of a change in a namespace, here and elsewhere. If it cannot, others find
// out when they look the next time. Changes until notifyPause is over are seen by those who look again.
func (d *Database) tell(ctx context.Context, namespace string) {
	d.ring(namespace)
	if !d.canBeNotified() {
		return
	}
	w := &d.watches
	w.mu.Lock()
	due := time.Since(w.notified[namespace]) >= notifyPause
	if due {
		w.notified[namespace] = time.Now()
	}
	w.mu.Unlock()
	if due {
		_, _ = d.db.ExecContext(ctx, `SELECT pg_notify($1, $2)`, d.channel(), namespace)
	}
}

// ring wakes the watches of a namespace.
func (d *Database) ring(namespace string) {
	d.watches.ring(func(w *watch) bool { return w.namespace == namespace })
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
		select {
		case <-time.After(listenRetry):
		case <-ctx.Done():
		}
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
	d.watches.ring(func(*watch) bool { return true }) // for what has changed before
	for {
		namespace, err := d.awaitNotification(ctx, conn)
		switch {
		case err == nil:
			d.ring(namespace)
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
	err = conn.Raw(func(driverConn any) (err error) {
		namespace, err = d.waitForNotification(ctx, driverConn)
		return err
	})
	return namespace, err
}
