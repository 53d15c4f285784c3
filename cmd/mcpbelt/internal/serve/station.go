// Package serve has the commands that go on until they are told to end, which share
// connections to servers, and those that look at them.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/admin/page"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// drainTime is how long calls under way may take when a station ends.
const drainTime = 10 * time.Second

// keptEvents is how many events stay in a database.
const keptEvents = 100_000

// Commands returns the commands that go on, and those that look at them.
func Commands(b *belt.Belt) []*cobra.Command {
	return []*cobra.Command{serveCommand(b), daemonCommand(b), approveCommand(b), keysCommand(b), topCommand(b), logsCommand(b)}
}

// A station is a gateway to the servers of the config files, with a control on a socket
// of the user.
type station struct {
	options
	belt    *belt.Belt
	opened  *belt.Opened
	gateway *gateway.Gateway
	log     *activity.Log
	member  *replica.Member  // nil: there is no database that it shares
	manager *manage.Manager  // nil: there is no page
	runner  *codemode.Runner // nil: there is no code mode

	page     *page.Page  // nil: there is none
	adminKey string      // of the page
	feed     *admin.Feed // nil likewise
	apps     *apps.Apps  // that it shows; nil: none

	early    map[string]bool // by name, whether tools that were listed before are offered while the server starts
	starting sync.WaitGroup  // those

	mu   sync.Mutex
	held map[string]belt.Held // the servers, by name

	inFlight atomic.Int64
	lastUse  atomic.Int64 // Unix nanoseconds
	stop     context.CancelFunc
	drained  sync.Once
}

// options say how a station serves.
type options struct {
	asks         registry.Approver    // about calls; nil: nobody is asked
	scripts      bool                 // models may run scripts
	commands     bool                 // its clients are commands of this program
	mode         string               // how tools are shown, see gateway.Options; empty: as fits the client
	edit         func(*config.Server) // changes an entry before it is used
	authenticate access.Authenticator // nil: whoever reaches this machine's addresses is served
	keys         *access.Keys         // nil: there are none
	roles        []admin.Role         // of those with the key of the page; none: there is no page
	callback     string               // the URL at which the page takes browsers that come back from a login
	sandbox      net.Listener         // of the apps that the page shows; nil: it shows none
	tokens       tokens               // that let callers in besides
	public       public               // how clients reach it
	variables    []string             // that entries of operators may name
	replica      string               // the URL by which others that share the database reach it; empty: they do not
	client       string               // the program whose own servers are left out; empty: none are
}

// newStation opens a host with the servers of the config files and a gateway to it. Close it.
func newStation(ctx context.Context, b *belt.Belt, so options) (*station, error) {
	cli.CollectAt(100)
	s := &station{options: so, belt: b, early: map[string]bool{}}
	c, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Problems {
		(&cli.Error{Exit: cli.InvalidConfig, Message: p.Error()}).Print(b.Env.Stderr, b.Out.AsJSON)
	}
	approvals, err := s.join(ctx, so.replica)
	if err != nil {
		return nil, err
	}
	sinks, err := s.sinks(len(so.roles) > 0)
	if err != nil {
		return nil, errors.Join(err, s.member.Close(ctx))
	}
	s.log = activity.New(nil, sinks...)
	o := &belt.OpenOptions{Cold: true, RedirectURL: so.callback, Client: &mcp.ClientOptions{}, More: s.feed != nil || b.Database != nil, Prepare: func(o *host.Options) {
		gateway.Prepare(o)
		if so.commands {
			//lint:ignore SA1019 Prepare has set it, and they have none
			o.Client.ListRoots = nil
		}
		o.Activity = s.log
		if b.Database != nil {
			o.Catalogs = b.Database.Catalogs()
		}
	}}
	if so.asks != nil {
		o.Registry.Approver = s.member.Approver(codemode.Approver(so.asks))
	}
	o.Registry.Approvals = approvals
	if s.opened, err = b.Open(ctx, c, c.Servers, o); err != nil {
		return nil, errors.Join(err, s.member.Close(ctx), s.log.Close(ctx))
	}
	if s.member != nil {
		err = s.member.Attach(s.opened.Registry())
	}
	const startWait = 5 * time.Second // servers that take longer go on to be started, some clients wait for 10 s
	starting, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err == nil {
		_, err = s.opened.Apply(starting, s.entries(c))
	}
	if err == nil || ctx.Err() == nil {
		g := &gateway.Options{Implementation: &mcp.Implementation{Name: "mcpbelt", Version: cli.Version()}, Replica: s.member.ID(), Authenticate: so.authenticate, Anonymous: so.authenticate == nil, Mode: so.mode,
			Hosts: so.public.names(), Origins: so.public.origins, PublicURL: so.public.text}
		if so.tokens.issuers != nil {
			g.Resource = &access.Resource{AuthorizationServers: so.tokens.issuers, URL: so.public.text}
		}
		if so.scripts {
			g.Code = s.openScripts()
		}
		s.gateway, err = gateway.New(s.opened.Host, g)
	}
	if err == nil && s.feed != nil {
		err = s.openPage(ctx)
	}
	for name, early := range s.early {
		if early && err == nil { // its tools are listed, and it is started meanwhile
			s.starting.Go(func() {
				_ = s.opened.WithClient(ctx, session.Key{Server: name}, func(ctx context.Context, c *mcp.Client) error { return c.Ready(ctx) })
			})
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.endScripts(), s.member.Close(context.WithoutCancel(ctx)), s.opened.Close(), s.log.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// join makes the station one of the replicas that share the database, if there is one, and returns how calls wait
// for approval.
func (s *station) join(ctx context.Context, url string) (o approval.Options, err error) {
	if s.belt.Database == nil {
		return o, nil
	}
	store, err := s.belt.Database.Replicas(ctx)
	if err != nil {
		return o, err
	}
	if s.member, err = replica.Join(ctx, store, &replica.Options{URL: url}); err != nil {
		return o, database.Unusable(err)
	}
	o.Replica = s.member.ID()
	return o, nil
}

// sinks returns what keeps the activity, and opens the feed of the page.
func (s *station) sinks(paged bool) (list []activity.Sink, err error) {
	var past func(*activity.Filter) iter.Seq2[activity.Event, error]
	if path := logPath(s.belt); path != "" {
		file, err := activity.OpenFile(path)
		if err != nil {
			return nil, err
		}
		list, past = append(list, file), file.Events
	}
	if s.belt.Database != nil {
		shared := s.belt.Database.Activity(&sqlstore.ActivityOptions{KeepEvents: keptEvents})
		list, past = append(list, shared), func(f *activity.Filter) iter.Seq2[activity.Event, error] {
			return shared.Events(context.Background(), f)
		}
	}
	if paged {
		s.feed = admin.NewFeed(past)
		list = append(list, s.feed)
	}
	return list, nil
}

// openScripts returns the tool that runs the scripts of models; nil, and says why, if this machine cannot.
func (s *station) openScripts() func(func(*registry.Definition) bool) registry.Tool {
	var err error
	if s.runner, err = codemode.New(s.opened.Registry(), nil, &codemode.Options{ApprovePlan: askPlan}); err != nil {
		(&cli.Error{Message: "there is no code mode: " + err.Error()}).Print(s.belt.Env.Stderr, s.belt.Out.AsJSON)
		return nil
	}
	return s.runner.Tool
}

func (s *station) endScripts() error {
	if s.runner == nil {
		return nil
	}
	return s.runner.Close()
}

// logPath returns the file of the activity of all stations, empty if there is none.
func logPath(b *belt.Belt) string {
	if b.Env.StateDir == "" {
		return ""
	}
	return filepath.Join(b.Env.StateDir, "activity.jsonl")
}

// load reads the config files, without the servers that its client has itself.
func (s *station) load(ctx context.Context) (*belt.Catalog, error) {
	c, err := s.belt.Load(ctx)
	if err == nil && s.client != "" {
		c, _ = c.Without(s.client)
	}
	return c, err
}

// entries returns the entries that the station uses, and remembers them. What a server listed at an earlier time
// is there at once, since many clients list tools once.
func (s *station) entries(c *belt.Catalog) *config.Config {
	entries := *c.Config
	entries.Servers, entries.Shadowed = nil, slices.Clone(entries.Shadowed)
	held := map[string]belt.Held{}
	for _, entry := range c.Config.Servers {
		e := *entry
		s.edit(&e)
		if _, known := s.early[e.Name]; !known {
			s.early[e.Name] = !e.Lazy && !e.Disabled && s.belt.Database == nil && s.belt.WasListed(entry)
		}
		if s.early[e.Name] {
			e.Lazy, e.IdleTimeout = true, math.MaxInt64
		}
		entries.Servers = append(entries.Servers, &e)
		for i := range entries.Shadowed {
			if entries.Shadowed[i].By == entry {
				entries.Shadowed[i].By = &e
			}
		}
		if !e.Disabled && e.Err == nil {
			held[e.Name] = belt.HeldOf(entry)
		}
	}
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	return &entries
}

// follow applies the config files, or the servers in the database, again when they change, and heeds what is accepted
// elsewhere, until the context ends.
func (s *station) follow(ctx context.Context) {
	var ledgers sync.WaitGroup
	defer ledgers.Wait()
	if s.opened.Ledger != nil {
		ledgers.Go(func() { _ = s.opened.Ledger.Follow(ctx) }) // which ends with the context
	}
	changes, err := s.changes(ctx)
	if err != nil {
		return
	}
	_ = s.opened.Follow(ctx, changes, func(ctx context.Context) (*config.Config, error) {
		c, err := s.load(ctx)
		if err != nil {
			return nil, err
		}
		return s.entries(c), nil
	}, nil)
}

// changes returns those of the config files, or of the servers in the database.
func (s *station) changes(ctx context.Context) (func(context.Context) iter.Seq[[]string], error) {
	if s.belt.Database != nil {
		store, err := s.belt.Records(ctx)
		if err != nil {
			return nil, err
		}
		return record.Changes(store), nil
	}
	if s.belt.ConfigFile != "" {
		return host.FileChanges(s.belt.Abs(s.belt.ConfigFile)), nil
	}
	var paths []string
	for _, l := range s.belt.Locations() {
		paths = append(paths, l.Path)
	}
	return host.FileChanges(paths...), nil
}

// drain lets calls under way finish for a while, refuses new ones and ends the gateway. It
// returns when that is done, whoever began it.
func (s *station) drain() {
	s.drained.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), drainTime)
		defer cancel()
		if s.feed != nil {
			_ = s.feed.Close() // ends the streams of the page; it never fails
		}
		if s.apps != nil {
			s.apps.Close()
		}
		_ = s.gateway.Shutdown(ctx) // fails if calls had to be cut off
	})
}

// close drains the station and ends its servers.
func (s *station) close(ctx context.Context) error {
	s.drain()
	s.starting.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(s.endScripts(), s.member.Close(ctx), s.manager.Close(), s.opened.Close(), s.log.Close(ctx))
}

// ServeHTTP serves the socket of the station: the gateway, and the control.
func (s *station) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.inFlight.Add(1)
	s.lastUse.Store(time.Now().UnixNano())
	defer func() {
		s.lastUse.Store(time.Now().UnixNano())
		s.inFlight.Add(-1)
	}()
	answer := func(value any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
	switch r.Method + " " + r.URL.Path {
	case "GET " + belt.ControlPath + "servers":
		s.mu.Lock()
		held := s.held // which nothing changes any more
		s.mu.Unlock()
		answer(held)
	case "GET " + belt.ControlPath + "status":
		answer(s.status())
	case "POST " + belt.ControlPath + "start":
		answer(s.start(r.Context(), r.URL.Query().Get("server")))
	case "GET " + belt.ControlPath + "approvals":
		answer(s.waiting(r.Context()))
	case "POST " + belt.ControlPath + "approve":
		q := r.URL.Query()
		answer(map[string]bool{"found": s.answer(r.Context(), q.Get("id"), q.Get("verdict") == "approve")})
	case "POST " + belt.ControlPath + "stop":
		answer(map[string]bool{"stopping": true})
		s.stop()
	default:
		s.gateway.ServeHTTP(w, r)
	}
}

// start starts a server if it does not run, and returns when it is ready or has failed.
func (s *station) start(ctx context.Context, name string) belt.Started {
	var entry *config.Server
	err := s.opened.WithClient(ctx, session.Key{Server: name}, func(ctx context.Context, client *mcp.Client) error {
		if i, err := s.opened.Inspect(name); err == nil {
			entry = i.Entry
		}
		return client.Ready(ctx)
	})
	for list := range s.opened.Watch(ctx) {
		i := slices.IndexFunc(list, func(one host.Status) bool { return one.Name == name })
		if err != nil || i < 0 || list[i].Stage == host.StageReady || list[i].Err != nil {
			if err == nil && i >= 0 {
				err = list[i].Err
			}
			break
		}
	}
	if err == nil {
		return belt.Started{}
	}
	if entry == nil { // there is no such server
		return belt.Started{Error: err.Error()}
	}
	return belt.Started{Error: belt.Explain(entry, err).Error(), Login: belt.NeedsLogin(belt.Explain(entry, err))}
}

// listen serves the socket of a name until the context ends.
func (s *station) listen(ctx context.Context, name string, ready func(net.Listener) error) error {
	l, err := s.belt.Listen(ctx, name)
	if err != nil {
		return err
	}
	return s.serve(ctx, l, s, ready)
}

// serve serves a listener until the context ends.
func (s *station) serve(ctx context.Context, l net.Listener, handler http.Handler, ready func(net.Listener) error) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	err := ready(l)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
			failed <- err
		}
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	s.drain() // who comes meanwhile is told so
	if server.Shutdown(ending) != nil {
		_ = server.Close()
	}
	if <-failed; errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// A status is what a station says of a server, in the output of top.
type status struct {
	Station  string `json:"station"`
	Server   string `json:"server"`
	Stage    string `json:"stage"`
	PID      int    `json:"pid,omitempty"`
	Tools    int    `json:"tools"`
	InFlight int    `json:"inFlight"`
	Calls    uint64 `json:"calls"`
	Failed   uint64 `json:"failed"`
	Error    string `json:"error,omitempty"`
}

func (s *station) status() []status {
	list := []status{}
	for _, server := range s.opened.Servers() {
		one := status{Server: server.Name, Stage: string(server.Stage), PID: server.State.PID, Tools: server.Tools}
		if i, err := s.opened.Inspect(server.Name); err == nil {
			total := i.Calls.Total
			one.InFlight, one.Calls, one.Failed = i.Calls.InFlight, total.Ended(), total.Failed+total.TimedOut+total.Unknown+total.Unavailable
			if server.Err != nil {
				one.Error = belt.Explain(i.Entry, server.Err).Error()
			}
		}
		list = append(list, one)
	}
	return list
}
