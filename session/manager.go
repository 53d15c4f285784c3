package session

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Tests set these to what a busy machine does not reach.
var (
	// workTime bounds one renewal or one beginning of a login, the waiting for
	// other processes included.
	workTime = 60 * time.Second
	// requestTime bounds the request for a token, and the saving of its answer.
	// Neither ends with the caller.
	requestTime = 30 * time.Second
	// saveTime is how long what became of requests for tokens can be saved when Close
	// has cut them off.
	saveTime = 2 * time.Second
)

const (
	// closeTime is how long Close waits for requests for tokens.
	closeTime = 5 * time.Second
	// maxRetired bounds the sessions that are removed from memory for a new one.
	maxRetired = 8
	// defaultMaxCached is the bound of sessions in memory when MaxCached is zero.
	defaultMaxCached = 10_000
)

// Options configure a [Manager].
type Options struct {
	// Config returns how to log in at the server of a key. It is called with every
	// request, from many goroutines, and must return soon. Keys whose Configs are the same
	// pointer or have the same content share connections and nonces. Functions cannot be
	// compared: return the same pointer each time for a Config that has some. They find
	// their user by [UserOf]. Required.
	Config func(Key) (*auth.Config, error)
	// Prompt shows logins to the user at this machine, such as
	// [auth.Loopback]. If it is nil, the program has to send users to the address
	// of an [auth.LoginRequiredError], and RedirectURL is where they come back.
	Prompt auth.Prompt
	// RedirectURL is the address of the program's own [Manager.CallbackHandler],
	// as browsers see it. It is not used with a Prompt.
	RedirectURL string
	// OnLogin, if set, is called when a session has got a login or headers, by
	// whatever way: with its key, after it was saved, and before what has got them
	// returns. A change that another process has saved counts when this manager sees it.
	// It is not called for tokens that are renewed, nor for sessions that were
	// logged in when they were first read. It may be called from many goroutines,
	// must return soon, and must not wait for methods of the manager.
	OnLogin func(Key)
	// Logger tells of logins, renewals and their failures. Default: nothing.
	Logger *slog.Logger
	// MaxCached bounds the sessions that are kept in memory, those in use not
	// counted. Those beyond it are read from the store again when they are used,
	// and are not renewed ahead of time. Default: 10,000.
	MaxCached int
}

// A Manager keeps the sessions of users at servers. Make one with [NewManager]. Its
// methods are safe for concurrent use, and several managers in several processes can
// share a store.
//
// A Manager owns one goroutine that knows when tokens have to be renewed, one for each session
// for which that is due, of which eight for each server do it at a time, one for each renewal or beginning of a login
// under way, and one for each login that is completed or shown to a user. Close
// ends them all.
type Manager struct {
	store *seal.Store
	owned bool // Shutdown closes the store
	opts  Options
	grace time.Duration // for the requests under way at Close; closeTime

	closing  context.Context // ends with Close
	close    context.CancelFunc
	requests context.Context // ends when requests for tokens are cut off
	cut      context.CancelFunc
	lost     atomic.Bool // a request was cut off
	wg       sync.WaitGroup

	mu      sync.Mutex // guards the following
	closed  bool
	entries map[Key]*list.Element // of *entry
	recent  *list.List            // the same, the last used first
	flows   []*keptFlow           // the last used first

	registering keylock.Set // by the names of registrations: held while a client is registered
	keeper      keeper
}

var errZeroManager = errors.New("session: the zero Manager is not usable: make it with NewManager")

// NewManager returns a manager of the sessions in a store. It does not close the
// store.
func NewManager(store *seal.Store, o *Options) (*Manager, error) {
	if o == nil || o.Config == nil {
		return nil, errors.New("session: Options.Config is required")
	}
	if store == nil {
		return nil, errors.New("session: NewManager: the store is nil")
	}
	if !store.Locks() {
		return nil, errors.New("session: NewManager: the store is not made with seal.NewStore, or its driver is neither a storage.Locker nor a storage.Leaser: two processes would use up one refresh token")
	}
	opts := *o
	opts.MaxCached = cmp.Or(opts.MaxCached, defaultMaxCached)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	closing, end := context.WithCancel(context.Background())
	requests, cut := context.WithCancel(context.Background())
	m := &Manager{
		store:    store,
		opts:     opts,
		grace:    closeTime,
		closing:  closing,
		close:    end,
		requests: requests,
		cut:      cut,
		entries:  map[Key]*list.Element{},
		recent:   list.New(),
	}
	m.keeper.wake, m.keeper.turns = make(chan struct{}, 1), map[string]chan struct{}{}
	m.wg.Go(m.keep)
	return m, nil
}

// Open returns a manager for a program on the user's machine. It keeps sessions in the
// files of the folder dir, as filestore.Open does without options, knows how to log in at
// the given servers by the Server of their Configs, and shows logins by [auth.Loopback].
// Close and Shutdown close the store as well.
//
// Options may be nil. With Options.Prompt or RedirectURL logins are shown so; Options.Config
// must be nil.
func Open(ctx context.Context, dir string, o *Options, servers ...*auth.Config) (*Manager, error) {
	opts := *cmp.Or(o, new(Options))
	if opts.Config != nil {
		return nil, errors.New("session: Open: Options.Config is set: name the servers, or use NewManager")
	}
	servers = slices.Clone(servers)
	opts.Config = func(key Key) (*auth.Config, error) {
		for _, c := range servers {
			if c != nil && c.Server == key.Server {
				return c, nil
			}
		}
		return nil, nil
	}
	if opts.Prompt == nil && opts.RedirectURL == "" {
		opts.Prompt = &auth.Loopback{}
	}
	store, err := filestore.Open(ctx, dir, &filestore.Options{Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	m, err := NewManager(store, &opts)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	m.owned = true
	return m, nil
}

// Memory returns a store that keeps sessions no longer than the program runs.
func Memory() *seal.Store {
	key := make([]byte, seal.KeySize)
	_, _ = rand.Read(key)                                                                              // never fails
	s, _ := seal.NewStore(context.Background(), storage.NewMemory(), seal.StaticKey(auth.Secret(key))) // neither can fail
	return s
}

// Close is [Manager.Shutdown] with 5 seconds for the requests under way. It returns
// nil also if some were cut off.
func (m *Manager) Close() error {
	ctx, stop := context.WithTimeout(context.Background(), m.grace)
	defer stop()
	_ = m.Shutdown(ctx)
	return nil
}

// Shutdown ends the logins that are shown to users, and returns when all goroutines
// have ended. A request for a token that is under way is brought to its end, and its
// answer saved. When ctx ends such requests are cut off, and Shutdown returns ctx's
// error about 2 seconds later at most, if the store ends with its contexts: the store
// says then that the answer is missing, and the next use of the session finds out
// whether its refresh token is still good. It can be called several times: ctx cuts off
// what earlier calls wait for.
func (m *Manager) Shutdown(ctx context.Context) error {
	if m.close == nil {
		return nil // the zero Manager
	}
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.close()
	stop := context.AfterFunc(ctx, m.cut)
	m.wg.Wait()
	stop()
	m.cut() // there are none any more
	m.mu.Lock()
	flows := m.flows
	m.flows = nil
	m.mu.Unlock()
	for _, kept := range flows {
		kept.flow.Close()
	}
	if m.owned {
		_ = m.store.Close()
	}
	if m.lost.Load() {
		return ctx.Err()
	}
	return nil
}

// run runs f in a goroutine that Close waits for. It reports false after Close.
func (m *Manager) run(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.wg.Go(f)
	return true
}

// caught turns a panic of what the program has given, such as a prompt or a store,
// into an error: it runs on a goroutine of the manager.
func (m *Manager) caught(key Key, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("session: %v: what the program has given panicked: %v", key, v)
		m.opts.Logger.Error("session: what the program has given panicked", "user", key.User, "server", key.Server, "panic", v, "stack", string(debug.Stack()))
	}
}

// entry returns the entry of a key, the last used of all from now on.
func (m *Manager) entry(key Key) *entry {
	if m == nil || m.entries == nil {
		panic(errZeroManager.Error())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.entries[key]; ok {
		m.recent.MoveToFront(at)
		return at.Value.(*entry)
	}
	for range maxRetired {
		if m.recent.Len() < m.opts.MaxCached {
			break
		}
		at := m.recent.Back()
		if old := at.Value.(*entry); old.evict() {
			m.recent.Remove(at)
			delete(m.entries, old.key)
		} else {
			m.recent.MoveToFront(at) // it is in use
		}
	}
	e := newEntry(m, key)
	m.entries[key] = m.recent.PushFront(e)
	return e
}

// watch returns the entry of a key, which is kept in memory, and looked at for
// changes by other processes, until stop is called.
func (m *Manager) watch(key Key) (e *entry, stop func()) {
	for {
		e := m.entry(key)
		if stop := e.watch(); stop != nil {
			return e, stop
		}
	}
}

// cached returns the entries in memory.
func (m *Manager) cached() []*entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*entry, 0, len(m.entries))
	for at := m.recent.Front(); at != nil; at = at.Next() {
		all = append(all, at.Value.(*entry))
	}
	return all
}

// lasting returns a context for what must come to its end once it has begun,
// whichever caller asked for it. It ends saveTime after requests for tokens were cut off.
func (m *Manager) lasting(key Key) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(WithUser(context.Background(), key.User), requestTime)
	stop := context.AfterFunc(m.requests, func() { time.AfterFunc(saveTime, cancel) })
	return ctx, func() { stop(); cancel() }
}

// request returns a context for a request for a token, within one of lasting.
func (m *Manager) request(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.requests, func() {
		m.lost.Store(true)
		cancel()
	})
	return ctx, func() { stop(); cancel() }
}

// A Key names one session: one user at one server.
type Key struct {
	// User is the user who is logged in. Programs with one user leave it empty.
	User string `json:"user,omitempty"`
	// Server is the name under which the server is configured.
	Server string `json:"server"`
}

// String returns the key as errors show it.
func (k Key) String() string {
	if k.User == "" {
		return fmt.Sprintf("server %q", k.Server)
	}
	return fmt.Sprintf("user %q at server %q", k.User, k.Server)
}

// WithUser returns a context for calls on behalf of a user. A [Handler] refuses
// to let out a request on behalf of another user than its own, the callbacks of
// an auth.Config find their user there, and so do a registry's policies.
func WithUser(ctx context.Context, user string) context.Context {
	return onbehalf.With(ctx, user)
}

// UserOf returns the user on whose behalf ctx's calls are made.
func UserOf(ctx context.Context) (user string, ok bool) {
	return onbehalf.User(ctx)
}
