package host

import (
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

// LoginOptions configure [Logins].
type LoginOptions struct {
	// Session holds the options of the session manager: how logins are shown, or
	// where browsers come back to. Its Config must be nil.
	Session session.Options
	// Configure, if set, completes what a server's entry says of the login there, such
	// as the name of the program, private networks, or another grant. It is called when
	// an entry is new or has changed, and must be quick; it may be called from many
	// goroutines. An error keeps requests from the server.
	Configure func(*config.Server, *auth.Config) error
}

// Logins log users in at the remote servers of one host, as their entries say, and
// follow when these change:
//
//	logins, err := host.NewLogins(session.Memory(), &host.LoginOptions{
//		Session: session.Options{Prompt: &auth.Loopback{}},
//	})
//	if err != nil { ... }
//	defer logins.Close()
//	h, err := host.Open(ctx, path, &host.Options{Logins: logins})
//
// An entry says nothing of logins as a rule: the server does, and a client is
// registered when it is needed. The key "auth" of an entry names a client that was
// registered by hand (clientId, clientSecret, and with them issuer, which has
// registered it), the scopes to ask for, the issuer, how users log in (grant,
// loginParams, askConsent), and the endpoints of an authorization server that publishes
// no metadata (authorizationUrl, tokenUrl, deviceUrl). Nobody logs in at a server whose
// entry has an Authorization header.
//
// Where all users share a connection they share its login, which has no user. Where
// each has their own, the tools of the server are read with the first login there. Its
// methods are safe for concurrent use.
type Logins struct {
	manager   *session.Manager
	configure func(*config.Server, *auth.Config) error
	prompts   bool // logins are shown to users

	mu      sync.RWMutex // guards the following
	servers map[string]*loginServer
	hosts   []*Host // that are told of logins
}

// A loginServer is how to log in at a server now.
type loginServer struct {
	facts  loginFacts
	config *auth.Config // never changed: sessions that share it share connections
	err    error        // why there is none
}

// loginFacts are what an entry says of logins.
type loginFacts struct {
	url, client, issuer, redirect string
	secret                        config.Secret
	scopes                        string
	login                         string // endpoints, grant and parameters
	proxy, authorities            string
	hash                          string // of the whole entry, for Configure
}

// NewLogins returns logins whose sessions are kept in a store. Close them after the
// host; they do not close the store.
func NewLogins(store *seal.Store, opts *LoginOptions) (*Logins, error) {
	var o LoginOptions
	if opts != nil {
		o = *opts
	}
	if o.Session.Config != nil {
		return nil, errors.New("host: LoginOptions.Session.Config must be nil: the configuration of the servers says how to log in")
	}
	l := &Logins{configure: o.Configure, prompts: o.Session.Prompt != nil, servers: map[string]*loginServer{}}
	o.Session.Config = l.config
	told := o.Session.OnLogin
	o.Session.OnLogin = func(key session.Key) {
		l.tell(key)
		if told != nil {
			told(key)
		}
	}
	manager, err := session.NewManager(store, &o.Session)
	if err != nil {
		return nil, err
	}
	l.manager = manager
	return l, nil
}

// Sessions returns the manager of the sessions, for what [Host] does not offer: status,
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

// follow has a host be told of logins, until unfollow.
func (l *Logins) follow(h *Host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts = append(slices.Clone(l.hosts), h)
}

func (l *Logins) unfollow(h *Host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts = slices.DeleteFunc(slices.Clone(l.hosts), func(other *Host) bool { return other == h })
}

// tell tells of a login.
func (l *Logins) tell(key session.Key) {
	l.mu.RLock()
	hosts := l.hosts
	l.mu.RUnlock()
	for _, h := range hosts {
		h.loggedIn(key)
	}
}

// config returns how to log in for a key: the same for all users of an entry.
func (l *Logins) config(key session.Key) (*auth.Config, error) {
	s := l.now(key.Server)
	if s == nil {
		return nil, &NoLoginError{key.Server, "it is not configured"}
	}
	return s.config, s.err
}

// use has logins be as an entry says.
func (l *Logins) use(e *config.Server) {
	if withoutLogin(e) != "" {
		l.forget(e.Name)
		return
	}
	facts := l.facts(e)
	if s := l.now(e.Name); s != nil && s.facts == facts {
		return
	}
	s := l.server(e, facts)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers[e.Name] = s
}

// know is use for a server of which nothing is known yet.
func (l *Logins) know(e *config.Server) {
	if l.now(e.Name) == nil {
		l.use(e)
	}
}

// now returns how to log in at a server now, or nil.
func (l *Logins) now(server string) *loginServer {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.servers[server]
}

func (l *Logins) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.servers, server)
}

func (l *Logins) facts(e *config.Server) loginFacts {
	f := loginFacts{url: e.URL, proxy: e.Proxy}
	if e.TLS != nil {
		f.authorities = e.TLS.CAFile
	}
	if a := e.Auth; a != nil {
		f.client, f.secret, f.issuer, f.redirect = a.ClientID, a.ClientSecret, a.Issuer, a.RedirectURL
		f.scopes = fmt.Sprintf("%q", a.Scopes)
		f.login = fmt.Sprintf("%q %q %q %q %v %q", a.AuthorizationURL, a.TokenURL, a.DeviceURL, a.Grant, a.AskConsent, a.LoginParams)
	}
	if l.configure != nil {
		f.hash = e.Hash()
	}
	return f
}

// complete calls the program's function, which may panic on a goroutine of the host.
func (l *Logins) complete(e *config.Server, c *auth.Config) (err error) {
	if l.configure == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("LoginOptions.Configure panics: %v", v)
		}
	}()
	return l.configure(e, c)
}

// server makes what an entry says into what sessions need.
func (l *Logins) server(e *config.Server, facts loginFacts) *loginServer {
	c := &auth.Config{Server: e.Name, URL: e.URL}
	if a := e.Auth; a != nil {
		c.Scopes, c.Issuer = slices.Clone(a.Scopes), a.Issuer
		if a.ClientID != "" {
			c.Client = &auth.Client{ID: a.ClientID, Secret: auth.Secret(a.ClientSecret.Reveal()), Issuer: a.Issuer}
			if a.RedirectURL != "" {
				c.Client.RedirectURIs = []string{a.RedirectURL}
			}
		}
		configureLogin(a, c)
	}
	s := &loginServer{facts: facts, config: c}
	if s.err = configureNetwork(e, c); s.err == nil {
		s.err = l.complete(e, c)
	}
	if s.err == nil && c.Client != nil && c.Client.Issuer == "" && c.Authority == nil {
		s.err = &auth.ConfigError{Server: e.Name, Field: "auth.issuer",
			Problem: "is missing: name the authorization server that has registered the clientId, so that its secret goes to no other"}
	}
	return s
}

// Handler returns what logs the user of a key in at the server of an entry, for
// transports that a program makes itself; or nil if nobody logs in there. The host uses
// it for those it makes.
func (l *Logins) Handler(key session.Key, e *config.Server) sdkauth.OAuthHandler {
	if e == nil || withoutLogin(e) != "" {
		return nil
	}
	key.Server = e.Name
	shared := e.Identity != config.IdentityUser && e.Identity != config.IdentityHeader
	if shared {
		key.User = ""
	}
	l.know(e)
	return &loginHandler{logins: l, session: l.manager.Handler(key), server: e.Name, facts: l.facts(e), shared: shared}
}

// configureLogin sets how users log in, as an entry says.
func configureLogin(a *config.Auth, c *auth.Config) {
	if a.Grant == config.GrantDeviceCode {
		c.Grant = auth.DeviceCode
	}
	c.AskConsent = a.AskConsent
	for name, value := range a.LoginParams {
		if c.LoginParams == nil {
			c.LoginParams = url.Values{}
		}
		c.LoginParams.Set(name, value)
	}
	if a.TokenURL != "" {
		c.Authority = &auth.Authority{Issuer: a.Issuer,
			AuthorizationEndpoint: a.AuthorizationURL, TokenEndpoint: a.TokenURL, DeviceEndpoint: a.DeviceURL}
	}
}
