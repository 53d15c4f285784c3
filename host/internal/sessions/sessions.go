// Package sessions keeps the sessions, at their servers, of users whose clients were ended for
// other users.
package sessions

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/lru"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	// endFor is how long the sessions at a server are ended; it ends the others itself
	// some time.
	endFor = 2 * time.Second
	// endAtOnce is how many of them are ended at the same time.
	endAtOnce = 16
)

// A Store holds sessions that are kept. Make one with [New]. All methods are safe for concurrent use.
type Store struct {
	most  int
	visit func() (leave func(), err error)

	mu    sync.Mutex // guards the following
	byKey lru.Map[session.Key, *kept]
}

// A kept is a session that is kept. It does not hold the client that had it.
type kept struct {
	server  any
	session *transport.Session
	expiry  *time.Timer // nil: it is kept for ever
}

// New returns an empty store for at most so many sessions. Before it ends one of which the
// time is up it calls visit, and leave when that is done; an error means that all are about
// to be taken out by [Store.All].
func New(most int, visit func() (leave func(), err error)) *Store {
	return &Store{most: most, visit: visit}
}

// Take returns the session with which a new client goes on that is at the same server, or
// an empty one.
func (st *Store) Take(key session.Key, server any) *transport.Session {
	st.mu.Lock()
	defer st.mu.Unlock()
	if k, ok := st.byKey.Peek(key); ok && k.server == server {
		return st.removeLocked(key)
	}
	return new(transport.Session)
}

// Put keeps a session until it is taken, or for so long; zero or less: for ever. It returns
// those that are to be ended: the one that the user had before, and those that are too many.
func (st *Store) Put(key session.Key, server any, s *transport.Session, last time.Duration) (end []*transport.Session) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if _, ok := st.byKey.Peek(key); ok {
		end = append(end, st.removeLocked(key))
	}
	for oldest := range st.byKey.Oldest() {
		if st.byKey.Len() < st.most {
			break
		}
		end = append(end, st.removeLocked(oldest))
	}
	k := &kept{server: server, session: s}
	if last > 0 {
		k.expiry = time.AfterFunc(last, func() { st.expire(key, k) })
	}
	st.byKey.Put(key, k)
	return end
}

func (st *Store) removeLocked(key session.Key) *transport.Session {
	k, _ := st.byKey.Peek(key)
	if k.expiry != nil {
		k.expiry.Stop()
	}
	st.byKey.Delete(key)
	return k.session
}

// expire ends a session that was not gone on with.
func (st *Store) expire(key session.Key, k *kept) {
	leave, err := st.visit()
	if err != nil {
		return
	}
	defer leave()
	st.mu.Lock()
	now, _ := st.byKey.Peek(key)
	if now == k {
		st.removeLocked(key)
	}
	st.mu.Unlock()
	if now == k {
		k.session.End()
	}
}

// All removes the sessions at a server, and returns them; those that were used last come
// first, since they are the least likely to be unknown there.
func (st *Store) All(server any) []*transport.Session {
	st.mu.Lock()
	defer st.mu.Unlock()
	var all []*transport.Session
	for key, k := range st.byKey.Oldest() {
		if k.server == server {
			all = append(all, st.removeLocked(key))
		}
	}
	slices.Reverse(all)
	return all
}

// EndAll ends sessions, as many as there is time for in some seconds.
func EndAll(all []*transport.Session) {
	until := time.Now().Add(endFor)
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(len(all), endAtOnce) {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all) && time.Now().Before(until); i = int(next.Add(1)) - 1 {
				all[i].End()
			}
		})
	}
	work.Wait()
}
