package replica

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/storage"
)

// serversPath is below which the servers are that run on one replica.
const serversPath = "/replica/s/"

// leaseFor is how long a server belongs to a replica that does not renew its lease.
const leaseFor = 20 * time.Second

// A holding is the lease of a server that this member has.
type holding struct {
	number int64
	until  time.Time // when it may have ended, by the clock of this machine
}

// ServerURL returns the URL at which a server is reached that runs on one replica, whichever it is, and
// the value of the Authorization field that requests there need. The first replica that is asked for it
// takes the lease of the server, by the clock of the store, and serves it by Options.Servers; when it
// leaves or dies another one does, within 20 seconds. Its clients then begin new sessions there.
//
// The entries of these servers are in two hosts: as they are in that of Options.Servers, and
// with this URL and header in that of the program's tools. The store has to be a [storage.Leaser].
func (m *Member) ServerURL(server string) (address, authorization string) {
	if m == nil {
		return "", ""
	}
	return strings.TrimSuffix(m.opts.URL, "/") + serversPath + url.PathEscape(server) + "/mcp", "Bearer " + m.secret
}

// serveServer serves a server that runs on one replica, or passes the request on to that replica.
func (m *Member) serveServer(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+m.secret)) == 0 {
		http.Error(w, "this is for replicas", http.StatusUnauthorized)
		return
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, serversPath), "/")
	if m.opts.Servers == nil || name == "" || rest != "mcp" {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), beatEvery) // the store may hang
	here, elsewhere, err := m.holderOf(ctx, name)
	cancel()
	forwarded := r.Header.Get(forwardedField) != ""
	unavailable := func(why string) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, why, http.StatusServiceUnavailable)
	}
	switch {
	case err != nil || !here && (elsewhere == nil || forwarded):
		unavailable("no replica runs the server at the moment")
	case here:
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = "/s/"+name+"/mcp", ""
		r.Header.Del("Authorization")
		m.opts.Servers.ServeHTTP(w, r)
	default:
		m.forward(w, r, elsewhere, func() { unavailable("the replica that runs the server is out of reach") })
	}
}

// holderName returns the name of the lease of a server, and of the record that says who has it.
func holderName(server string) string {
	sum := sha256.Sum256([]byte(server))
	return holderPrefix + hex.EncodeToString(sum[:16])
}

// A holder is the record of who has the lease of a server.
type holder struct {
	Member string `json:"member"`
	Server string `json:"server"`
}

// holderOf returns where a server runs, and makes it run here if it runs nowhere.
func (m *Member) holderOf(ctx context.Context, server string) (here bool, elsewhere *url.URL, err error) {
	unlock, err := m.locks.Lock(ctx, server)
	if err != nil {
		return false, nil, err
	}
	defer unlock()
	m.mu.Lock()
	held := m.holds[server]
	leaving := m.leaving
	m.mu.Unlock()
	if time.Now().Before(held.until) {
		return true, nil, nil
	}
	leaser, ok := m.store.(storage.Leaser)
	if !ok {
		return false, nil, errors.New("replica: the store gives no leases")
	}
	name := holderName(server)
	if !leaving {
		held.until = time.Now().Add(leaseFor)
		if held.number, err = leaser.TakeLease(ctx, name, leaseFor); err == nil {
			return true, nil, m.take(ctx, leaser, server, held)
		}
		if !errors.Is(err, storage.ErrHeld) {
			return false, nil, storeError(err)
		}
	}
	h, _, err := load[holder](ctx, m, name)
	if err != nil {
		return false, nil, storeError(err) // another replica has taken it just now
	}
	return false, m.peer(h.Member).url, nil
}

// take notes that this member has the lease of a server.
func (m *Member) take(ctx context.Context, leaser storage.Leaser, server string, held holding) error {
	name := holderName(server)
	_, at, err := load[holder](ctx, m, name)
	if err == nil || isMoot(err) {
		_, err = m.save(ctx, name, holder{m.id, server}, at)
	}
	if err != nil {
		_ = leaser.ReleaseLease(context.WithoutCancel(ctx), name, held.number)
		return storeError(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds[server] = held
	return nil
}

// renew renews the leases that the member has, and gives up the servers of those that were lost.
func (m *Member) renew(ctx context.Context) error {
	return m.eachLease(func(l storage.Leaser, server string, held holding) error {
		until := time.Now().Add(leaseFor)
		err := l.RenewLease(ctx, holderName(server), held.number, leaseFor)
		lost := errors.Is(err, storage.ErrLost) || err != nil && !time.Now().Before(held.until)
		m.mu.Lock()
		if err == nil {
			m.holds[server] = holding{held.number, until}
		} else if lost {
			delete(m.holds, server)
		}
		m.mu.Unlock()
		if lost {
			m.opts.Lost(server)
		}
		return err
	})
}

// release ends the leases that the member has.
func (m *Member) release(ctx context.Context) error {
	return m.eachLease(func(l storage.Leaser, server string, held holding) error {
		m.opts.Lost(server)
		return l.ReleaseLease(ctx, holderName(server), held.number)
	})
}

// eachLease calls do with each lease that the member has, and returns its last error but that a lease was lost.
func (m *Member) eachLease(do func(l storage.Leaser, server string, held holding) error) (failed error) {
	m.mu.Lock()
	holds := maps.Clone(m.holds)
	m.mu.Unlock()
	for server, held := range holds {
		if err := do(m.store.(storage.Leaser), server, held); err != nil && !errors.Is(err, storage.ErrLost) {
			failed = err
		}
	}
	return failed
}
