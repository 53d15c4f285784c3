package login

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// Options configure [Logins].
type Options struct {
	// Session holds the options of the session manager: how logins are shown, or
	// where browsers come back to. Its Config must be nil.
	Session session.Options
	// Configure, if set, completes what a server's entry says of the login there, such
	// as the name of the program, private networks, or another grant. It is called when
	// an entry is new or has changed, and must be quick; it may be called from many
	// goroutines. An error keeps requests from the server.
	Configure func(*config.Server, *auth.Config) error
}

// An Error reports a server at which no user can log in.
//
//cure:see the text: the entry needs a client of yours, or has no login
type Error struct {
	// Server is the name of the server.
	Server string
	// Problem says why, and what would be different.
	Problem string
}

// Error names the server.
func (e *Error) Error() string {
	return fmt.Sprintf("login: none at server %q: %s", e.Server, e.Problem)
}

// Logins log users in at the remote servers of one host, as their entries say, and follow
// when these change. Make them with [New]. Their methods are safe for concurrent use.
type Logins struct {
	manager   *session.Manager
	configure func(*config.Server, *auth.Config) error
	prompts   bool // logins are shown to users
	// handler makes a handler. It is a field, so that programs without logins do not link what logs users in.
	handler func(key session.Key, e *config.Server, shared bool) sdkauth.OAuthHandler

	mu      sync.RWMutex // guards the following
	servers map[string]*loginServer
	told    []*func(session.Key) // are called after each login
}

// A loginServer is how to log in at a server now.
type loginServer struct {
	facts  string       // see [Logins.facts]
	config *auth.Config // never changed: sessions that share it share connections
	err    error        // why there is none
}

// New returns logins whose sessions are kept in a store. Close them after the
// host; they do not close the store.
func New(store *seal.Store, opts *Options) (*Logins, error) {
	o := *cmp.Or(opts, new(Options))
	if o.Session.Config != nil {
		return nil, errors.New("login: Options.Session.Config must be nil: the configuration of the servers says how to log in")
	}
	l := &Logins{configure: o.Configure, prompts: o.Session.Prompt != nil, servers: map[string]*loginServer{}}
	o.Session.Config = l.config
	told := o.Session.OnLogin
	o.Session.OnLogin = func(key session.Key) {
		l.mu.RLock()
		others := l.told
		l.mu.RUnlock()
		for _, f := range others {
			(*f)(key)
		}
		if told != nil {
			told(key)
		}
	}
	manager, err := session.NewManager(store, &o.Session)
	if err != nil {
		return nil, err
	}
	l.manager = manager
	l.handler = func(key session.Key, e *config.Server, shared bool) sdkauth.OAuthHandler {
		return &loginHandler{logins: l, session: manager.Handler(key), server: e.Name, url: e.URL, facts: l.facts(e), shared: shared}
	}
	return l, nil
}

// Sessions returns the manager of the sessions, for what a host does not offer: status,
// secrets that are set by hand, the handler that browsers come back to. Its keys have the
// names of servers. Do not close it.
func (l *Logins) Sessions() *session.Manager { return l.manager }

// Close ends the logins under way, as [session.Manager.Close] does.
func (l *Logins) Close() error {
	if l.manager == nil {
		return nil // the zero Logins
	}
	return l.manager.Close()
}

// Prompts reports whether logins are shown to users.
func (l *Logins) Prompts() bool { return l.prompts }

// OnLogin has f be called after each login, until stop is called. A host calls it.
func (l *Logins) OnLogin(f func(session.Key)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := &f
	l.told = append(slices.Clone(l.told), told)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told = slices.DeleteFunc(slices.Clone(l.told), func(other *func(session.Key)) bool { return other == told })
	}
}

// config returns how to log in for a key: the same for all users of an entry.
func (l *Logins) config(key session.Key) (*auth.Config, error) {
	s := l.now(key.Server)
	if s == nil {
		return nil, &Error{key.Server, "it is not configured"}
	}
	return s.config, s.err
}

// Use has logins at the server of an entry be as the entry says. A host calls it, also if l is nil.
func (l *Logins) Use(e *config.Server) {
	if l == nil || e == nil {
		return
	}
	if e.NoLogin() != "" {
		l.Forget(e.Name)
		return
	}
	facts := l.facts(e)
	if s := l.now(e.Name); s != nil && s.facts == facts {
		return
	}
	s := l.server(e, facts)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.servers == nil { // of the zero Logins
		l.servers = map[string]*loginServer{}
	}
	l.servers[e.Name] = s
}

// Know is [Logins.Use] for a server of which nothing is known yet.
func (l *Logins) Know(e *config.Server) {
	if e != nil && l.now(e.Name) == nil {
		l.Use(e)
	}
}

// now returns how to log in at a server now, or nil.
func (l *Logins) now(server string) *loginServer {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.servers[server]
}

// Forget ends logins at a server that is not configured any more. A host calls it, also if l is nil.
func (l *Logins) Forget(server string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.servers, server)
}

// facts returns what an entry says of logins, with its secret; of the whole entry, if the
// program completes that.
func (l *Logins) facts(e *config.Server) string {
	if l.configure != nil {
		return e.Hash()
	}
	facts := fmt.Sprintf("%q %q", e.URL, e.Proxy)
	if e.TLS != nil {
		facts += fmt.Sprintf(" %q", e.TLS.CAFile)
	}
	if e.Auth != nil {
		facts += fmt.Sprintf(" %#v %q", *e.Auth, e.Auth.ClientSecret.Reveal())
	}
	return facts
}

// complete calls the program's function, which may panic on a goroutine of the host.
func (l *Logins) complete(e *config.Server, c *auth.Config) (err error) {
	if l.configure == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("login: Options.Configure panics: %v", v)
		}
	}()
	return l.configure(e, c)
}

// server makes what an entry says into what sessions need.
func (l *Logins) server(e *config.Server, facts string) *loginServer {
	c := &auth.Config{Server: e.Name, URL: e.URL, Names: names()}
	if a := e.Auth; a != nil {
		c.Scopes, c.Issuer, c.RedirectURL, c.NoResource = slices.Clone(a.Scopes), a.Issuer, a.RedirectURL, a.NoResource
		if a.ClientID != "" {
			c.Client = &auth.Client{ID: a.ClientID, Secret: auth.Secret(a.ClientSecret.Reveal()), AuthMethod: a.AuthMethod, Issuer: a.Issuer}
		}
		configureLogin(a, c)
	}
	s := &loginServer{facts: facts, config: c}
	c.Network.Proxy = e.ProxyFunc()
	if c.Network.TLS, s.err = e.TLSConfig(true); s.err == nil {
		s.err = l.complete(e, c)
	}
	if s.err == nil && c.Client != nil && c.Client.Secret != "" && c.Client.Issuer == "" && c.Authority == nil {
		s.err = &Error{e.Name, `its client has a secret, and nothing says whose: add "auth": {"issuer": "https://..."} to the entry, with the authorization server that has registered the client, so that the secret goes to no other`}
	}
	return s
}

// Handler returns what logs the user of a key in at the server of an entry, for
// transports that a program makes itself; or nil if no user logs in there. The host uses
// it for those it makes.
func (l *Logins) Handler(key session.Key, e *config.Server) sdkauth.OAuthHandler {
	if e.NoLogin() != "" || l.handler == nil {
		return nil // or they are the zero Logins
	}
	key.Server = e.Name
	shared := e.Identity != config.IdentityUser && e.Identity != config.IdentityHeader
	if shared {
		key.User = ""
	}
	l.Know(e)
	return l.handler(key, e, shared)
}

// configureLogin sets how users log in, as an entry says.
func configureLogin(a *config.Auth, c *auth.Config) {
	if a.Grant == "device_code" {
		c.Grant = auth.DeviceCode
	}
	if len(a.LoginParams) > 0 || a.AskConsent {
		c.LoginParams = url.Values{}
	}
	for name, value := range a.LoginParams {
		c.LoginParams.Set(name, value)
	}
	if a.AskConsent && c.LoginParams["prompt"] == nil {
		c.LoginParams.Set("prompt", "consent")
	}
	if a.TokenURL != "" {
		c.Authority = &auth.Authority{Issuer: a.Issuer, AuthorizationEndpoint: a.AuthorizationURL, TokenEndpoint: a.TokenURL,
			DeviceEndpoint: a.DeviceURL, RegistrationEndpoint: a.RegistrationURL, RevocationEndpoint: a.RevocationURL}
	}
}
