package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An office is what a user has on this replica: connections, tools, calls that wait. All that has to last, or
// to be known on the other replicas, is in records of the user, sealed, in a namespace of the database that no
// code for another user opens.
type office struct {
	user    string
	store   *seal.Store    // the records of the user
	servers record.Store   // which servers they have
	tools   *ledger.Ledger // which tools of these were accepted
	logins  *login.Logins  // where they are logged in
	member  *replica.Member
	host    *host.Host
	agents  chan struct{} // one for each agent at work
	close   func() error
}

// Bounds for one user: servers, and agents that work on one replica.
const (
	maxServers = 20
	maxAgents  = 4
)

// maxOffices is how many offices are open at one time on a replica. They stay open: a service of more
// users closes those that are idle, and the user's next request opens them again.
const maxOffices = 1000

// office returns the office of a user, which is opened when the user first needs it.
func (s *site) office(user string) (*office, error) {
	s.mu.Lock()
	open := s.offices[user]
	if open == nil {
		if len(s.offices) >= maxOffices {
			s.mu.Unlock()
			return nil, errors.New("too many users are here now, try again soon")
		}
		open = sync.OnceValues(func() (*office, error) { return s.openOffice(user) })
		s.offices[user] = open
	}
	s.mu.Unlock()
	o, err := open()
	if err != nil {
		s.mu.Lock()
		delete(s.offices, user) // the next request tries again
		s.mu.Unlock()
	}
	return o, err
}

// openOffice opens the office of a user.
func (s *site) openOffice(user string) (_ *office, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	o := &office{user: user, agents: make(chan struct{}, maxAgents)}
	var closers []func() error // the last one first
	o.close = func() error {
		var errs []error
		for i := len(closers) - 1; i >= 0; i-- {
			errs = append(errs, closers[i]())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the servers of %s: %w", user, err), o.close())
		}
	}()

	if o.store, err = seal.NewStore(ctx, s.records("user/"+user), s.keys); err != nil {
		return nil, err
	}
	closers = append(closers, o.store.Close)
	o.servers = record.NewStore(o.store, "servers")
	if o.tools, err = ledger.Load(ctx, o.store, "ledger", nil); err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(context.Background())
	followed := make(chan error, 1)
	go func() { followed <- o.tools.Follow(following) }()
	closers = append(closers, func() error { stop(); <-followed; return nil })

	// A login is begun on one replica and completed on any other.
	if o.logins, err = login.New(o.store, &login.Options{
		Session: session.Options{RedirectURL: s.url + "/callback"},
		Configure: func(_ *config.Server, c *auth.Config) error {
			c.ClientName = "mcpbelt example" // which users see where they log in
			return nil
		},
	}); err != nil {
		return nil, err
	}
	closers = append(closers, o.logins.Close)

	// A call that waits on one replica is approved on any other. The store tells of answers at once. It has a namespace of
	// its own, since each change wakes all who watch a namespace, and members renew their records.
	calls, err := seal.NewStore(ctx, s.records("calls/"+user), s.keys)
	if err != nil {
		return nil, err
	}
	closers = append(closers, calls.Close)
	if o.member, err = replica.Join(ctx, calls, &replica.Options{Every: 5 * time.Second}); err != nil {
		return nil, err
	}
	closers = append(closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err := o.member.Close(ctx) // before the host: it waits for calls that were approved elsewhere
		if o.host != nil {
			err = errors.Join(err, o.host.Close())
		}
		return err
	})
	tools := registry.New(&registry.Options{Ledger: o.tools, Approver: s.rules, Approvals: approval.Options{Replica: o.member.ID()}})
	m, err := manage.OpenStore(ctx, o.servers, &manage.Options{Host: host.Options{
		Registry:  tools,
		Logins:    o.logins,
		Follow:    true, // servers that are added on another replica
		StateDir:  host.NoState,
		Config:    &config.Options{AsWritten: true}, // ${NAME} in a URL does not read the environment of the service
		Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) { return s.transport(o, e) },
	}})
	if err != nil {
		return nil, err
	}
	o.host = m.Host()
	if err := o.member.Attach(tools); err != nil {
		return nil, err
	}
	return o, tools.Add(registry.MustFunc("today", "Tell the date.", func(context.Context, struct{}) (string, error) {
		return time.Now().UTC().Format(time.DateOnly), nil
	}))
}

// transport reaches the server of an entry. Users may only have servers elsewhere: an entry that would start a program
// or open a socket of this machine does not run, in whatever way it came into the database.
func (s *site) transport(o *office, e *config.Server) (mcp.Transport, error) {
	if e.Transport != config.TransportHTTP || !strings.HasPrefix(e.URL, "http://") && !strings.HasPrefix(e.URL, "https://") {
		return nil, errors.New("only servers on HTTP are for users")
	}
	return &transport.HTTP{URL: e.URL, OAuth: o.logins.Handler(session.Key{Server: e.Name}, e), RoundTripper: s.outward}, nil
}

// addServer adds a server of the user. If they trust it, tools that it calls read-only are called without asking.
func (o *office) addServer(r *http.Request) error {
	have, err := o.servers.Records(r.Context())
	if err == nil && len(have) >= maxServers {
		err = errors.New("you have as many servers as a user can have")
	}
	if err != nil {
		return err
	}
	_, err = record.Add(r.Context(), o.servers, &config.Server{
		Name: r.FormValue("name"), Transport: config.TransportHTTP, URL: r.FormValue("url"), Trust: r.FormValue("trust") != "",
	})
	return err
}

// removeServer removes a server of the user, and ends their login there.
func (o *office) removeServer(r *http.Request) error {
	name := r.PathValue("server")
	logout := o.host.Logout(r.Context(), session.Key{Server: name})
	_, err := record.Remove(r.Context(), o.servers, name)
	return errors.Join(logout, err)
}

// acceptTools accepts what a server has changed, as the user has seen it.
func (o *office) acceptTools(r *http.Request) error {
	for _, c := range o.tools.Pending(r.PathValue("server")) {
		if c.Hash == r.FormValue("hash") {
			return o.tools.Accept(r.Context(), o.user, c)
		}
	}
	return errors.New("it has changed meanwhile: look again")
}

// answer approves or denies a call, on whichever replica it waits.
func (o *office) answer(r *http.Request) error {
	if r.FormValue("decision") != "approve" {
		return o.member.Deny(r.Context(), r.PathValue("call"), "")
	}
	_, err := o.member.Approve(r.Context(), r.PathValue("call"), nil)
	return err // the result is for the agent
}
