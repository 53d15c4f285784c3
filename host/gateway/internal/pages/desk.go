// Package pages keeps what the callers of a gateway have to do in a browser, and serves the
// pages for that: a login at a server, and a decision about a call.
package pages

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

const (
	// maxErrands bounds the errands of all callers, of which the one that ends first makes room, and maxErrandsOf
	// those of one, of which the oldest does.
	maxErrands   = 10_000
	maxErrandsOf = 200
	// maxTickets bounds the forms of one errand that were given out and not sent back.
	maxTickets = 8
)

// An Errand is what a person has to do on a page. Its exported fields do not change.
type Errand struct {
	// Caller is who caused it. No one else can open its page.
	Caller *access.Caller
	// Endpoint is the path at which they did.
	Endpoint string
	// Subject tells the errands of a caller apart.
	Subject string
	// Expires is until when the page is there. Zero: it has none.
	Expires time.Time
	// Kept is until when the errand is known, if that is after Expires.
	Kept time.Time
	// Wanted tells the calls of a caller apart, see [Desk.Find]. It may be empty.
	Wanted string

	// Login is the session that needs a login. Zero: Call is to be decided.
	Login session.Key
	// Call is what is asked.
	Call *registry.ApprovalRequest
	// Session says that the call may be allowed for its session.
	Session bool

	asked  atomic.Bool // a client is asked to show the page
	id     string
	gone   chan struct{}
	decide func(ctx context.Context, v approval.Verdict, note string) error // takes the decision about Call

	// The mutex of the Desk guards the following.
	used    bool              // the page has done its work
	visit   string            // the cookie of the browser that went to log in; empty: none did
	tickets map[string]ticket // by the tokens of the forms that were given out
}

// A ticket says who got a form.
type ticket struct {
	cookie string // of the browser
	proven bool   // it is the caller's
}

// ID names the errand. It cannot be guessed.
func (e *Errand) ID() string { return e.id }

// Gone is closed when the errand is forgotten.
func (e *Errand) Gone() <-chan struct{} { return e.gone }

// Path is where the page is, below the URL of the gateway.
func (e *Errand) Path() string {
	if e.Call == nil {
		return "/login/" + e.id
	}
	return "/approve/" + e.id
}

// Options configure a [Desk].
type Options struct {
	// Login begins a login, and Complete completes it by the address that the browser came back to.
	Login    func(context.Context, session.Key) (*session.Login, error)
	Complete func(ctx context.Context, callback string, o *session.CompleteOptions) (session.Key, error)
	// Opener says which user opens a page. Nil: it is asked for by Authenticate.
	Opener func(*http.Request) (string, error)
	// Authenticate is that of the gateway. Nil: pages are for this machine only.
	Authenticate access.Authenticator
	// Registry holds the calls that wait for approval.
	Registry *registry.Registry
	// InputWait is how long it is waited for a person.
	InputWait time.Duration
	// Spawn calls a function on a goroutine whose context ends with the gateway; false: that is closed.
	Spawn func(func(context.Context)) bool
	// NewID returns an id that cannot be guessed.
	NewID func() string
	// URL is by which browsers reach the gateway; the zero URL if that is not known.
	URL url.URL
	// Logger receives what was refused. Required.
	Logger *slog.Logger
}

// A Desk keeps errands and serves their pages. Its methods are safe for concurrent use.
type Desk struct {
	opts Options

	mu      sync.Mutex // guards the following
	errands map[string]*Errand
	owners  map[string][]*Errand // the oldest first
}

// New returns a desk.
func New(o Options) *Desk {
	return &Desk{opts: o, errands: map[string]*Errand{}, owners: map[string][]*Errand{}}
}

// Add keeps an errand, and returns it, or the one of the same caller and subject that is open already.
func (d *Desk) Add(e *Errand) *Errand {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	c := e.Caller.Owner()
	for _, known := range slices.Clone(d.owners[c]) {
		if known.over(now) {
			d.removeLocked(known)
		} else if known.Subject == e.Subject && now.Before(known.Expires) && (!known.used || known.asked.Load()) {
			return known
		}
	}
	if len(d.owners[c]) >= maxErrandsOf {
		d.removeLocked(d.owners[c][0])
	}
	if len(d.errands) >= maxErrands {
		d.removeLocked(slices.MinFunc(slices.Collect(maps.Values(d.errands)), func(a, b *Errand) int { return a.Expires.Compare(b.Expires) }))
	}
	e.id, e.gone = d.opts.NewID(), make(chan struct{})
	d.errands[e.id] = e
	d.owners[c] = append(d.owners[c], e)
	return e
}

// over reports whether the errand can be forgotten.
func (e *Errand) over(now time.Time) bool { return !now.Before(e.Expires) && !now.Before(e.Kept) }

// Forget forgets the errands that are over.
func (d *Desk) Forget(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.errands {
		if e.over(now) {
			d.removeLocked(e)
		}
	}
}

// Find returns the last errand of a caller that fits, or nil.
func (d *Desk) Find(c *access.Caller, fits func(*Errand) bool) *Errand {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.findLocked(c, fits)
}

func (d *Desk) findLocked(c *access.Caller, fits func(*Errand) bool) *Errand {
	now := time.Now()
	for _, e := range slices.Backward(d.owners[c.Owner()]) {
		if !e.over(now) && fits(e) {
			return e
		}
	}
	return nil
}

// take forgets the errand of a caller and a subject that has no page, and reports whether there was one.
func (d *Desk) take(c *access.Caller, subject string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.findLocked(c, func(e *Errand) bool { return e.Subject == subject && e.Expires.IsZero() })
	if e != nil {
		d.removeLocked(e)
	}
	return e != nil
}

// Remove forgets an errand.
func (d *Desk) Remove(e *Errand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removeLocked(e)
}

func (d *Desk) removeLocked(e *Errand) {
	if d.errands[e.id] != e {
		return
	}
	close(e.gone)
	delete(d.errands, e.id)
	c := e.Caller.Owner()
	d.owners[c] = slices.DeleteFunc(d.owners[c], func(other *Errand) bool { return other == e })
	if len(d.owners[c]) == 0 {
		delete(d.owners, c)
	}
}

// open returns the errand of that id whose page is there, or nil.
func (d *Desk) open(id string, login bool) *Errand {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.errands[id]
	if e == nil || e.used || (e.Call == nil) != login || !time.Now().Before(e.Expires) {
		return nil
	}
	return e
}

// setUsed says whether the page of an errand has done its work. It reports false if that was said before.
func (d *Desk) setUsed(e *Errand, used bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed := e.used != used
	e.used = used
	return changed
}

// visited notes that a browser went to log in, and returns the cookie by which it is known when it comes back.
func (d *Desk) visited(e *Errand) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.visit = rand.Text()
	return e.visit
}

// visitor returns the errand for which the browser of a cookie went to log in, or nil.
func (d *Desk) visitor(c *http.Cookie) *Errand {
	id, ok := strings.CutPrefix(c.Name, visitCookie)
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.errands[id]; ok && e != nil && e.visit != "" && e.visit == c.Value && time.Now().Before(e.Expires) {
		return e
	}
	return nil
}

// give returns the token of a form for the browser of a cookie. It is good for once.
func (d *Desk) give(e *Errand, t ticket) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(e.tickets) >= maxTickets || e.tickets == nil {
		e.tickets = map[string]ticket{} // the person loads the page again
	}
	token := rand.Text()
	e.tickets[token] = t
	return token
}

// redeem returns the ticket of a token, and forgets it.
func (d *Desk) redeem(e *Errand, token string) (ticket, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := e.tickets[token]
	delete(e.tickets, token)
	return t, ok
}
