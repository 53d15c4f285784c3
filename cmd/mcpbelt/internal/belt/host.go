package belt

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/docker"
	"github.com/mcpbelt/mcpbelt/host/landlock"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// atOnce is how many servers [Belt.Each] has running at a time.
const atOnce = 8

// OpenOptions configure [Belt.Open]. Nil means the defaults.
type OpenOptions struct {
	// Client are the options of all clients: what servers can ask the user for. Default:
	// servers are told that they can ask the user and a model, so that they list their tools for that,
	// and each question is refused.
	Client *mcp.ClientOptions
	// Registry are the options of the registry, but for the ledger.
	Registry registry.Options
	// Prompt shows logins to the user. Default: no login is begun, and one that is kept
	// is used.
	Prompt auth.Prompt
	// RedirectURL is where browsers come back to if there is no Prompt: the program completes
	// these logins.
	RedirectURL string
	// More has the ledger and logins opened even if none of the servers can want them: others may be added.
	More bool
	// Cold has servers started even if a daemon holds them, and lets others than those of the
	// call be added.
	Cold bool
	// Prepare may change the options of the host.
	Prepare func(*host.Options)
}

// An Opened is a host with what belongs to it.
type Opened struct {
	*host.Host
	Ledger *ledger.Ledger  // nil if there is none
	Logins *login.Logins   // nil if no server can want a login, see OpenOptions
	Warm   map[string]bool // the servers that a daemon holds

	sessions io.Closer
}

// Open returns a host for some servers, which are not started yet: see [Start] and
// [Belt.Visit]. The ledger is that of the catalogue, and none if all servers are those of the
// command line. Logins are kept in the state folder. Close it.
func (b *Belt) Open(ctx context.Context, c *Catalog, servers []*config.Server, o *OpenOptions) (*Opened, error) {
	o = cmp.Or(o, &OpenOptions{})
	opened := &Opened{}
	ho := &host.Options{
		StateDir: b.Env.StateDir,
		Isolators: map[string]host.Isolator{
			config.IsolationDocker:   &docker.Isolator{},
			config.IsolationLandlock: landlock.New(nil),
		},
	}
	if !o.Cold {
		opened.Warm, ho.Transport = b.warm(ctx, servers)
	}
	var err error
	r := o.Registry
	if o.More || !allAdHoc(servers) {
		if r.Ledger, err = b.OpenLedger(ctx, servers); err != nil {
			return nil, err
		}
	}
	opened.Ledger, ho.Registry = r.Ledger, registry.New(&r)
	if o.Client != nil {
		ho.Client = *o.Client
	} else {
		refuse(&ho.Client, nil)
	}
	ho.StateDir = cmp.Or(ho.StateDir, host.NoState)
	if ho.Consents, err = b.Consents(ctx); err != nil {
		return nil, err
	}
	if o.More || slices.ContainsFunc(servers, func(s *config.Server) bool { return s.NoLogin() == "" }) {
		if opened.Logins, opened.sessions, err = b.OpenLogins(ctx, b.Account, o.Prompt, o.RedirectURL); err != nil {
			return nil, err
		}
		ho.Logins = opened.Logins
	}
	if o.Prepare != nil {
		o.Prepare(ho)
	}
	opened.Host = host.New(ho)
	return opened, nil
}

// Close ends the host, and then what belongs to it.
func (o *Opened) Close() error {
	err := o.Host.Close()
	if o.Logins != nil {
		err = errors.Join(err, o.Logins.Close(), o.sessions.Close())
	}
	return err
}

func allAdHoc(servers []*config.Server) bool {
	return !slices.ContainsFunc(servers, func(s *config.Server) bool { return !IsAdHoc(s) })
}

// Start starts servers in a host and waits until each is ready. The error is that of the
// first one which is not.
func Start(ctx context.Context, h *host.Host, servers ...*config.Server) error {
	c := &config.Config{}
	for _, s := range servers {
		if err := startable(s); err != nil {
			return err
		}
		c.Servers = append(c.Servers, eager(s))
	}
	report, err := h.Apply(ctx, c)
	for _, s := range servers {
		if failed := report.Failed[s.Name]; failed != nil {
			return Explain(s, failed)
		}
	}
	return err
}

// startable returns why a server cannot be started, or nil: its entry is not sound, or it is
// switched off.
func startable(s *config.Server) error {
	switch {
	case s.Err != nil:
		return Explain(s, s.Err)
	case s.Disabled:
		return &cli.Error{Exit: cli.NotSent, Message: "server " + quote(s.Name) + " is disabled", Server: s.Name, Cure: "mcpbelt enable " + s.Name}
	}
	return nil
}

// eager returns the entry of a server that is started now, and not when it is called.
func eager(s *config.Server) *config.Server {
	if !s.Lazy {
		return s
	}
	e := *s
	e.Lazy = false
	return &e
}

// ended returns why the context of a command has ended, nil if it has not. It is nil also after
// --timeout: each server that was not ready then has an error that says so.
func ended(ctx context.Context) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// explainReady explains why a server is not ready, as [Explain] does.
func explainReady(ctx context.Context, s *config.Server, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &cli.Error{Exit: cli.NotSent, Server: s.Name, Message: "server " + quote(s.Name) + " was not ready within --timeout", Cure: "give it more time", Err: err}
	}
	return Explain(s, err)
}

// Each opens a host, see [Belt.Open], and calls f for each of the servers, 8 at a time, while a
// spinner shows the text. It returns when all calls have, and fails if there is no host, or as ended says.
func (b *Belt) Each(ctx context.Context, c *Catalog, servers []*config.Server, o *OpenOptions, text string, f func(*Opened, *config.Server)) error {
	h, err := b.Open(ctx, c, servers, o)
	if err != nil {
		return err
	}
	defer h.Close()
	spinner := b.Out.Spin(text)
	defer spinner.End()
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, s := range servers {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(h, s)
		})
	}
	wg.Wait()
	return ended(ctx)
}

// Visit is [Belt.Each] with each of the servers started, and ended again after the call of f.
// The calls of f come one after the other, in any order; the error that it gets says why the
// server cannot be used.
func (b *Belt) Visit(ctx context.Context, c *Catalog, servers []*config.Server, o *OpenOptions, text string, f func(*Opened, *config.Server, host.Status, error)) error {
	var calls sync.Mutex
	return b.Each(ctx, c, servers, o, text, func(h *Opened, s *config.Server) {
		status, err := visit(ctx, h.Host, s)
		b.Looked(s, status.Tools, err)
		calls.Lock()
		f(h, s, status, err)
		calls.Unlock()
		_, _ = h.ApplyServers(ctx, "end", s.Name, func(context.Context) (map[string]*config.Server, error) {
			return map[string]*config.Server{s.Name: nil}, nil
		})
	})
}

// visit starts a server and returns where it stands.
func visit(ctx context.Context, h *host.Host, s *config.Server) (host.Status, error) {
	if err := startable(s); err != nil {
		return host.Status{Name: s.Name}, err
	}
	report, err := h.ApplyServers(ctx, "start", s.Name, func(context.Context) (map[string]*config.Server, error) {
		return map[string]*config.Server{s.Name: eager(s)}, nil
	})
	if failed := report.Failed[s.Name]; failed != nil {
		err = failed
	}
	for _, status := range h.Servers() {
		if status.Name == s.Name {
			return status, explainReady(ctx, s, err)
		}
	}
	return host.Status{Name: s.Name}, explainReady(ctx, s, err)
}

// An Offer is what a server says of its tools and of their use.
type Offer struct {
	Tools        []registry.Tool
	Instructions string
	Err          error // why it could not be asked
}

// Offers asks servers for their tools, see [Offered].
func (b *Belt) Offers(ctx context.Context, c *Catalog, servers ...*config.Server) ([]Offer, error) {
	offers := make([]Offer, len(servers))
	err := b.Each(ctx, c, servers, &OpenOptions{Cold: true}, "asking for tools", func(h *Opened, s *config.Server) {
		o := &offers[slices.Index(servers, s)]
		if o.Err = startable(s); o.Err == nil {
			*o = Offered(ctx, h.Host, s)
		}
	})
	return offers, err
}

// Offered returns the tools that a server lists, as a registry would have them, whether the
// ledger accepts them or not. The server is started for it, and nothing is kept; the tools
// cannot be called. The error is that of the context if that was cancelled, and else explained, see
// [Explain].
func Offered(ctx context.Context, h *host.Host, s *config.Server) (offer Offer) {
	err := h.Try(ctx, s, nil, func(ctx context.Context, t mcp.Transport, o *mcp.ClientOptions) (err error) {
		refuse(o, nil)
		client := mcp.NewClient(s.Name, t, o)
		defer func() { err = errors.Join(err, client.Close()) }()
		if err := client.Ready(ctx); err != nil {
			return err
		}
		list, err := client.Tools(ctx)
		if err != nil {
			return err
		}
		for _, t := range list {
			offer.Tools = append(offer.Tools, registry.Remote(s.Name, t, client.CallTool))
		}
		offer.Instructions = client.State().Instructions
		return nil
	})
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		err = ctx.Err()
	}
	offer.Err = explainReady(ctx, s, err)
	return offer
}
