package replica

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	idLength   = 12
	beatEvery  = 5 * time.Second
	deadAfter  = 20 * time.Second
	sweepEvery = time.Minute
	keepFor    = 30 * time.Minute // records of what is over
)

// What the names of records begin with.
const (
	memberPrefix = "member-"
	callPrefix   = "call-"
	answerPrefix = "answer-"
	grantPrefix  = "grant-"
	secretName   = "secret"
)

// Options configure a [Member]. Nil means the defaults.
type Options struct {
	// URL is where the other replicas reach [Member.Handler] of this one, such as
	// http://10.0.0.7:8080. The requests that come there have the credentials of users: use https or a network of your own.
	// Default: no request is passed on to this replica.
	URL string
	// Every is how often the store is asked for answers of other replicas. One that is a
	// [storage.Watcher] tells of them besides. Default: 1 s.
	Every time.Duration
	// Logger is told when the store fails. Default: nothing is logged.
	Logger *slog.Logger
}

// A Member is one replica. Make one with [Join] and end it with [Member.Close]. Its methods are safe
// for concurrent use.
type Member struct {
	id     string
	secret string // of all members
	store  storage.Store
	opts   Options
	logger *slog.Logger
	record []byte            // of the member
	proxy  http.RoundTripper // to other members

	ctx     context.Context // of all that it does by itself
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // its goroutines
	wake    chan struct{}  // capacity 1: the calls that wait have changed
	running sync.WaitGroup // the calls that answers have it make; Add with mu
	sweeps  int            // of grants; run's alone
	part    uint8          // of the grants, that was looked at last; run's alone

	mu       sync.Mutex // guards the following
	bodies   share.Book // that are looked at
	registry *registry.Registry
	revoked  uint64             // grows when grants are taken back
	leaving  bool               // no answer is taken any more
	peers    map[string]peer    // by ID
	shown    map[string]bool    // whether the records of this member's calls have the outcome, by ID
	over     map[string]bool    // of the records of calls as last listed, which have an outcome
	taken    map[string]*answer // the answers that it took, by the names of their records
}

// A peer is another replica, as far as it was seen. The zero peer is none.
type peer struct {
	revision storage.Revision
	changed  time.Time // by the clock of this machine
	url      *url.URL  // nil: nothing is passed on to it
}

var errClosed = errors.New("replica: the member has left")

// Join makes the program one of those that share a store. It fails if the store does.
func Join(ctx context.Context, store storage.Store, opts *Options) (*Member, error) {
	if nils.Is(store) {
		return nil, errors.New("replica: a store is required")
	}
	m := &Member{
		id: strings.ToLower(rand.Text()[:idLength]), store: store, wake: make(chan struct{}, 1),
		part:   uint8(mathrand.IntN(256)),
		bodies: share.Book{Max: share.Amount{Bytes: maxBodies}},
		opts:   *cmp.Or(opts, new(Options)),
		peers:  map[string]peer{}, shown: map[string]bool{}, taken: map[string]*answer{},
	}
	m.logger = cmp.Or(m.opts.Logger, slog.New(slog.DiscardHandler))
	if m.opts.Every <= 0 {
		m.opts.Every = time.Second
	}
	own, err := url.Parse(m.opts.URL)
	if err != nil || m.opts.URL != "" && (own.Scheme != "http" && own.Scheme != "https" || own.Host == "" || own.User != nil) {
		return nil, errors.New("replica: Options.URL is not an http or https URL without a user")
	}
	if m.record, err = json.Marshal(m.opts.URL); err != nil {
		return nil, err
	}
	m.proxy = &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, DialContext: (&net.Dialer{Timeout: beatEvery}).DialContext, ForceAttemptHTTP2: true}
	m.secret, err = m.agree(ctx)
	var at storage.Revision
	if err == nil {
		at, err = m.beat(ctx, "")
	}
	if err == nil {
		err = m.look(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("replica: joining: %w", err)
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.tasks.Go(func() { m.run(at) })
	if w, ok := store.(storage.Watcher); ok {
		m.tasks.Go(func() {
			for _, err := range w.Watch(m.ctx, answerPrefix+m.id+"-") {
				if err == nil {
					m.stir()
				}
			}
		})
	}
	return m, nil
}

// Attach shares the calls that wait in a registry. It is called once, with a registry whose approval.Options have
// the ID of the member as Replica.
func (m *Member) Attach(r *registry.Registry) error {
	if r == nil {
		return errors.New("replica: a registry is required")
	}
	r.Approvals(m.ctx) // panics here, and not later, if it was not made with registry.New
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.leaving:
		return errClosed
	case m.registry != nil:
		return errors.New("replica: a registry is attached already")
	}
	m.registry = r
	m.tasks.Go(func() {
		for range r.WatchApprovals(m.ctx) {
			m.stir()
		}
	})
	return nil
}

// attached returns the registry; nil if none is attached.
func (m *Member) attached() *registry.Registry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.registry
}

// agree returns the secret that all members share, which the first one has made.
func (m *Member) agree(ctx context.Context) (string, error) {
	for {
		secret, _, err := load[string](ctx, m, secretName)
		if !errors.Is(err, storage.ErrNotFound) {
			return secret, err
		}
		_, err = m.save(ctx, secretName, rand.Text()+rand.Text(), "")
		if err != nil && !errors.Is(err, storage.ErrConflict) {
			return "", err
		}
	}
}

// stir makes the member look at its calls at once.
func (m *Member) stir() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run does what the member does by itself, until it is closed. At is its record.
func (m *Member) run(at storage.Revision) {
	ticker := time.NewTicker(m.opts.Every)
	defer ticker.Stop()
	beaten, swept := time.Now(), time.Now()
	failing := false
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-ticker.C:
		case <-m.wake:
		}
		ctx, cancel := context.WithTimeout(m.ctx, beatEvery)
		var err error
		if time.Since(beaten) >= beatEvery {
			var beat error
			if at, beat = m.beat(ctx, at); beat == nil {
				beaten = time.Now()
			}
			err = errors.Join(beat, m.look(ctx))
		}
		err = errors.Join(err, m.publish(ctx), m.takeAnswers(ctx))
		if err == nil && time.Since(swept) >= sweepEvery {
			swept = time.Now()
			err = m.sweep(ctx)
		}
		cancel()
		switch {
		case m.ctx.Err() != nil || failing == (err != nil):
		case err != nil:
			m.logger.Warn("replica: the store fails", "error", err)
		default:
			m.logger.Info("replica: the store is back")
		}
		failing = err != nil
	}
}

// beat renews the record of the member, which has the revision at.
func (m *Member) beat(ctx context.Context, at storage.Revision) (storage.Revision, error) {
	next, err := m.store.Save(ctx, memberPrefix+m.id, m.record, at)
	if err == nil {
		return next, nil
	}
	if errors.Is(err, storage.ErrConflict) {
		var r storage.Record
		if r, err = m.store.Load(ctx, memberPrefix+m.id, ""); err == nil {
			return r.Revision, nil
		}
	}
	if errors.Is(err, storage.ErrNotFound) {
		m.forgetHere(ctx, &answer{TakeBack: takeGrants}) // others took it for dead, and did not tell it what was taken back
		return "", nil
	}
	return at, err
}

// look notices which other members there are.
func (m *Member) look(ctx context.Context) error {
	now := map[string]peer{}
	for name, err := range m.store.Names(ctx, memberPrefix) {
		if err != nil {
			return err
		}
		id := strings.TrimPrefix(name, memberPrefix)
		if id == m.id {
			continue
		}
		known := m.peer(id)
		r, err := m.store.Load(ctx, name, known.revision)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			continue
		case err != nil:
			return err
		case r.Revision != known.revision:
			known = peer{r.Revision, time.Now(), urlIn(r.Data)}
		}
		now[id] = known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peers = now
	return nil
}

// peer returns another member, as far as it was seen.
func (m *Member) peer(id string) peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peers[id]
}

// urlIn returns the URL that the record of a member is; nil if there is none.
func urlIn(data []byte) *url.URL {
	var text string
	_ = json.Unmarshal(data, &text)
	if u, err := url.Parse(text); err == nil && text != "" {
		return u
	}
	return nil
}

// isAlive reports whether a member is there, as far as is known here.
func (m *Member) isAlive(id string) bool {
	return id == m.id || time.Since(m.peer(id).changed) < deadAfter
}

// knows reports whether there is a record of a member.
func (m *Member) knows(id string) bool { return id == m.id || m.peer(id) != peer{} }

// sweep deletes the records of members that have died, and of what is long over.
func (m *Member) sweep(ctx context.Context) error {
	now := time.Now()
	m.mu.Lock()
	dead := map[string]storage.Revision{}
	for id, p := range m.peers {
		if now.Sub(p.changed) > keepFor {
			dead[id] = p.revision
		}
	}
	var old []string // answers that no one has asked for again
	for name, a := range m.taken {
		if !a.over.IsZero() && now.Sub(a.over) > keepFor {
			old = append(old, name)
			delete(m.taken, name)
		}
	}
	m.mu.Unlock()
	for id, revision := range dead {
		if err := m.store.Delete(ctx, memberPrefix+id, revision); err != nil && !isMoot(err) {
			return err
		}
	}
	for name, err := range m.store.Names(ctx, answerPrefix) {
		if err != nil {
			return err
		}
		if member, _, _ := strings.Cut(strings.TrimPrefix(name, answerPrefix), "-"); !m.knows(member) {
			old = append(old, name)
		}
	}
	for _, name := range old {
		if err := m.remove(ctx, name); err != nil {
			return err
		}
	}
	err := m.calls(ctx, nil, func(name string, c *call) error {
		if now.Before(c.Until) || c.Outcome == nil && m.knows(c.Member) {
			return nil
		}
		m.mu.Lock()
		delete(m.shown, c.Request.ID)
		m.mu.Unlock()
		return m.remove(ctx, name)
	})
	if err != nil {
		return err
	}
	return m.sweepGrants(ctx)
}

// Close leaves: it waits for the calls that were approved elsewhere and are being made here, until ctx ends, and
// breaks off those that still run then. What waits for approval ends with the registry. Close returns the error of ctx if
// it had to break off calls, or one of the store if the records stay; then the others notice within 20 seconds.
func (m *Member) Close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	left := m.leaving
	m.leaving = true
	m.mu.Unlock()
	if left {
		return nil
	}
	made := make(chan struct{})
	go func() {
		m.running.Wait()
		close(made)
	}()
	var err error
	select {
	case <-made:
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.cancel()
	(&http.Client{Transport: m.proxy}).CloseIdleConnections()
	<-made
	m.tasks.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	m.mu.Lock()
	names := []string{memberPrefix + m.id}
	for id, over := range m.shown {
		if !over {
			names = append(names, callName(id))
		}
	}
	m.mu.Unlock()
	for _, name := range names {
		err = errors.Join(err, m.remove(ctx, name))
	}
	return err
}

// remove deletes a record, if it is there.
func (m *Member) remove(ctx context.Context, name string) error {
	r, err := m.store.Load(ctx, name, "")
	if err == nil {
		err = m.store.Delete(ctx, name, r.Revision)
	}
	if isMoot(err) {
		return nil
	}
	return err
}

// isMoot reports whether an error says that the record is not there, or not as it was.
func isMoot(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrDamaged)
}

// load reads a record.
func load[T any](ctx context.Context, m *Member, name string) (T, storage.Revision, error) {
	var v T
	r, err := m.store.Load(ctx, name, "")
	if err == nil && json.Unmarshal(r.Data, &v) != nil {
		err = fmt.Errorf("%w: %q", storage.ErrDamaged, name)
	}
	return v, r.Revision, err
}

// save writes a record whose revision is old.
func (m *Member) save(ctx context.Context, name string, v any, old storage.Revision) (storage.Revision, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return m.store.Save(ctx, name, data, old)
}
