package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/clients"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/pages"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/quota"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// ErrClosed is returned by methods of a Gateway that is closed.
//
//cure:make a new Gateway
var ErrClosed = errors.New("gateway: closed")

// Options configure a Gateway. The zero value, and nil, mean the defaults.
type Options struct {
	// Implementation names the gateway to its clients. A view of one server gives the
	// server's own name. Default: mcpbelt, version 0.
	Implementation *mcp.Implementation
	// Instructions tell the models of clients how to use the view of all servers and those of
	// profiles. Default: those of the servers, as far as they were accepted.
	Instructions string
	// Profiles are views of parts of the belt by name, at /p/NAME/mcp.
	Profiles map[string]Profile
	// Mode is how tools are shown to a client: "direct" lists them, "search" lists tools by
	// which they are found and called, and "code" lists code_execution. "auto" chooses
	// by what is known of the client by its name; one that is not known gets search if
	// the definitions of its tools take more than 10,000 tokens, see [toolset.SetOptions]. A request
	// says otherwise by its path, and a caller's grant by its Mode. Default: auto.
	Mode string
	// Finder finds tools in the modes search and code. Default: one that finds them by their words.
	Finder *toolset.Finder
	// Code returns the tool code_execution, whose scripts may call the tools that keep keeps, such as
	// the Tool of a Runner of package registry/codemode. It is called for each list and each call. The
	// calls of a script are made by the host's registry. Default: there is no mode code.
	Code func(keep func(*registry.Definition) bool) registry.Tool
	// Manager lets callers whose grant says Manage change the servers of its host, which is that of
	// the gateway, by the tool upstream_servers. What they add or change is started when a person has
	// allowed its launch. Default: no client changes servers.
	Manager *manage.Manager
	// Authenticate says who makes an HTTP request, and what they may: servers are used with the
	// logins of that user. Its error refuses the request, see [access.RefusedError]. While a listening
	// stream is open, it is asked every 30 s about the request that opened it. Default: requests
	// are refused, unless Anonymous is set.
	Authenticate access.Authenticator
	// Anonymous serves HTTP requests without a credential, on behalf of no user, that come in at a
	// loopback address or a unix socket: whoever can reach it can use all servers. Set this
	// or Authenticate, not both.
	Anonymous bool
	// Resource tells clients where they get tokens that Authenticate takes. Default: they are
	// not told.
	Resource *access.Resource
	// Hosts are the names under which the gateway is reached, as the Host field of requests
	// has them, with or without port. Default: any name, but for a listener on a loopback
	// address only localhost and loopback addresses, so that no page in a browser can
	// reach it by a name of its own (DNS rebinding).
	Hosts []string
	// Origins are the origins of pages whose scripts may use the gateway, such as
	// https://app.example, besides that of the gateway itself and, where it is reached by the name of
	// this machine (localhost or a loopback address), those of this machine. Default: none.
	Origins []string
	// PublicURL is the URL below which the gateway's paths are reached, such as https://belt.example: the pages on which
	// people log in and approve calls are there. Default: that by which the client came.
	PublicURL string
	// Opener says which user a browser belongs to that opens such a page, as by the program's own cookie.
	// The page is for the user whose client caused it, and no one else. Its error refuses the request. Default: Authenticate
	// is asked; if it refuses the browser, the page asks for the API key that the client uses. Without both,
	// a page can be opened from this machine only.
	Opener func(*http.Request) (user string, err error)
	// Replica is what the ids of sessions, calls, tasks and pages begin with, and a hyphen, so that requests
	// about them find the replica that made them, see replica.Member.Handler. Default: nothing.
	Replica string
	// Logger receives refused requests and failures. Default: nothing is logged.
	Logger *slog.Logger

	limits *limits // nil: those of defaultLimits; tests have others
}

// limits bound what clients may cost. Their fields are exported for tests.
type limits struct {
	// ClientPrefix is the room that clients take of the 64 bytes of a tool's name, for their name of the gateway: longer
	// names are cut and end in a hash.
	ClientPrefix int
	// PageBytes bounds a page of a list. Many clients read the first page only, so that it should hold all.
	PageBytes int
	// MaxMessage bounds a message of a client in bytes.
	MaxMessage int64
	// MaxBodies bounds the bytes of the bodies of requests under way. A further one is refused with status 503. An
	// owner has a quarter of them at most.
	MaxBodies int
	// MaxSessions bounds the sessions of all clients together, in revisions before 2026-07-28. A
	// further one is refused with status 503. An owner, see [access.Caller.Owner], has a
	// quarter of them at most, so that no one keeps others out.
	MaxSessions int
	// MaxStreams bounds the HTTP requests that are under way at one time: those whose answer is not
	// complete, and listening streams. A further one is refused with status 503. An owner has a quarter
	// of them at most.
	MaxStreams int
	// SessionIdle is how long a session may be unused, with no stream open, before it is forgotten.
	SessionIdle time.Duration
	// Heartbeat is how often a caller that asked for progress gets a progress notification while its server is silent.
	Heartbeat time.Duration
	// AnswerWithin is after what time a call that still runs is answered with an id or a task. Zero: for clients that
	// have the extension for tasks, or are known to give up, see [peer.answerWithin].
	AnswerWithin time.Duration
	// InputWait is how long a server, an approval or a login waits for the user of a client.
	InputWait time.Duration
	// HangUp is for how long calls go on whose client over stdio writes no more: it may still read, or be gone.
	HangUp time.Duration
	// MaxWaiting bounds the bytes of answers that wait for a client on the one stream of its connection: while
	// there are more, it makes no further requests.
	MaxWaiting int
}

func defaultLimits() limits {
	return limits{
		// mcp__belt__ also keeps the 60 bytes that Cursor has for server and tool together.
		ClientPrefix: len("mcp__belt__"), PageBytes: 32 << 20, MaxMessage: 16 << 20, MaxBodies: 256 << 20, MaxSessions: 20_000, MaxStreams: 20_000,
		SessionIdle: time.Hour, Heartbeat: 15 * time.Second, InputWait: 10 * time.Minute, HangUp: 3 * time.Second, MaxWaiting: 16 << 20,
	}
}

// A Profile is a part of the belt. The zero value is all of it. The modes search and code find and call
// the tools of the part; what the program itself has hidden in the registry, such as search_tools
// of package registry/toolset, is in no part, since it finds and calls the tools of all of it.
type Profile struct {
	// Servers are patterns of the names of servers. Default: all, and the program's own
	// tools.
	Servers []string
	// Tools are patterns of the names of tools in the registry. Without Servers, there are no resources and
	// prompts beside them. Default: all.
	Tools []string
	// ReadOnly leaves out tools that do not say that they only read.
	ReadOnly bool
	// Names calls tools, by their names in the registry, by other names.
	Names map[string]string
}

// A Gateway serves the servers of a host as one MCP server. Make one with [New]; the zero
// Gateway is a closed one. Its methods are safe for concurrent use.
type Gateway struct {
	host    *host.Host
	content *content.Content
	skills  *skills.Catalogue
	opts    Options
	seed    maphash.Seed // of the hashes of lists
	full    *permit      // that of a caller without a grant
	limits  limits

	serving     context.Context // ends with Shutdown, and with Close
	drain       context.CancelFunc
	desk        *pages.Desk
	clients     clients.Rows
	choices     modes.Choices[[4]string] // by view, user, credential and the name of the client
	switchedOff sync.Map                 // what callers have switched off, see [metatools.Servers]
	levels      keylock.Set              // by server, while it is told what to log
	ctx         context.Context          // ends with Close
	cancel      context.CancelFunc
	work        sync.WaitGroup // watchers, the sweeper, and jobs

	mu        sync.Mutex // guards the following
	views     map[string]*view
	sessions  map[string]*clientSession
	listeners map[*listener]struct{}
	jobs      parkedJobs
	busy      quota.Quota   // requests under way
	bodies    quota.Quota   // bytes of their bodies
	opened    quota.Quota   // sessions over HTTP
	followed  quota.Quota   // subscriptions to resources
	idle      chan struct{} // closed when draining and nothing is under way; nil: no one waits
}

// New returns a gateway to the servers of h. It fails if h is nil, a pattern of a profile is wrong, or
// the options have both Authenticate and Anonymous, or a Mode, Finder or Manager that is not one for h.
// Close it before the host.
func New(h *host.Host, opts *Options) (*Gateway, error) {
	if h == nil || h.Registry() == nil {
		return nil, errors.New("gateway: the host is nil, or was not made by package host")
	}
	if _, err := h.Inspect(""); errors.Is(err, host.ErrClosed) { // there is no such server in any case
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g := &Gateway{
		host: h, content: content.New(h), skills: skills.New(h, nil), seed: maphash.MakeSeed(), full: &permit{}, limits: defaultLimits(),
		views: map[string]*view{}, sessions: map[string]*clientSession{},
		jobs:      parkedJobs{byID: map[string]*job{}, count: quota.New(maxParked, maxParkedOf)},
		listeners: map[*listener]struct{}{},
	}
	if opts != nil {
		g.opts = *opts
	}
	if g.opts.limits != nil {
		g.limits = *g.opts.limits
	}
	g.busy, g.opened, g.followed = quota.New(g.limits.MaxStreams, 0), quota.New(g.limits.MaxSessions, 0), quota.New(maxFollowed, 0)
	g.bodies = quota.New(g.limits.MaxBodies, 0)
	o := &g.opts
	if o.Authenticate != nil && o.Anonymous {
		return nil, errors.New("gateway: Options has both Authenticate and Anonymous: set one")
	}
	o.Implementation = cmp.Or(o.Implementation, &mcp.Implementation{Name: "mcpbelt", Version: "0"})
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Hosts, o.Origins = slices.Clone(o.Hosts), slices.Clone(o.Origins)
	if err := g.prepareModes(); err != nil {
		return nil, err
	}
	if err := g.makeViews(o.Profiles); err != nil {
		return nil, err
	}
	var err error
	if o.PublicURL, err = publicURL(o.PublicURL); err != nil {
		return nil, err
	}
	g.desk = g.newDesk()
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.serving, g.drain = context.WithCancel(g.ctx)
	h.Registry().UseForErrors(g.askLogin)
	g.work.Go(g.watchTools)
	g.work.Go(g.watchServers)
	g.work.Go(g.sweep)
	return g, nil
}

// Shutdown lets requests under way finish and refuses new ones, ends the listening streams, and
// closes the gateway. If ctx ends before that, the gateway is closed at once and the error is
// that of ctx.
func (g *Gateway) Shutdown(ctx context.Context) error {
	if g.host == nil {
		return nil
	}
	g.mu.Lock()
	g.drain()
	if g.busy.Taken > 0 && g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	for _, s := range g.sessions {
		s.endListening()
	}
	g.mu.Unlock()
	var err error
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			err = ctx.Err()
		case <-g.ctx.Done():
		}
	}
	return errors.Join(err, g.Close())
}

// Close ends all sessions and streams, cancels the calls under way, and waits for them. It
// does not close the host.
func (g *Gateway) Close() error {
	if g.host == nil {
		return nil
	}
	g.mu.Lock()
	sessions := g.sessions
	g.sessions = map[string]*clientSession{}
	g.cancel()
	g.mu.Unlock()
	for _, s := range sessions {
		s.end()
	}
	g.work.Wait()
	return nil
}

// begin counts a request of an owner that is under way until end is called. It fails when the gateway takes no
// more.
func (g *Gateway) begin(owner string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.serving.Err() != nil {
		return ErrClosed
	}
	return g.busy.Take(owner, 1, "requests are under way")
}

// spawn calls f on a goroutine that Close waits for. It reports false if the gateway is closed.
func (g *Gateway) spawn(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return false
	}
	g.work.Go(f)
	return true
}

// end ends what begin began, a request whose body had so many bytes.
func (g *Gateway) end(owner string, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy.Give(owner, 1)
	g.bodies.Give(owner, bytes)
	if g.serving.Err() != nil && g.busy.Taken == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// sweep forgets idle sessions, the results that were not fetched, and what people have to do no more.
func (g *Gateway) sweep() {
	every := min(time.Minute, max(g.limits.SessionIdle/4, time.Second))
	for feed.Sleep(g.ctx, every) == nil {
		now := time.Now()
		g.sweepAt(now)
		g.desk.Forget(now)
	}
}

func (g *Gateway) sweepAt(now time.Time) {
	var idle []string
	g.mu.Lock()
	for id, s := range g.sessions {
		if s.idleSince(now) > g.limits.SessionIdle {
			idle = append(idle, id)
		}
	}
	for _, j := range g.jobs.byID {
		if j.forgettable(now) {
			g.jobs.remove(j)
		}
	}
	g.mu.Unlock()
	for _, id := range idle {
		g.endSession(id)
	}
}

// newID returns an identifier that cannot be guessed.
func newID() string { return rand.Text() }

// newPlacedID returns one that tells the replica.
func (o *Options) newPlacedID() string {
	return strings.TrimPrefix(o.Replica+"-", "-") + newID()
}
