package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/browser"
	"github.com/mcpbelt/mcpbelt/internal/loginpage"
)

// A Loopback is a [Prompt] for programs on the user's own machine: it opens their
// browser, which comes back to a port of 127.0.0.1 that listens for this one
// login (RFC 8252, section 7.3). That is the port of a registered redirect URI
// if one is free, otherwise any; the path is /callback if nothing is registered.
//
// Only the answer to the login that is shown is taken, which is told by its
// state, and only once. A web page that sends the browser to that port gets
// nothing and ends nothing.
//
// The zero Loopback is ready. It is safe for concurrent use: every login has a
// port of its own. Until its login is closed, one goroutine listens there, two if
// the redirect URI is one of localhost, and each connection has one, at most 64.
// Closing the login ends them and waits for that.
type Loopback struct {
	// Open opens a page in the user's browser and returns soon. Default: the
	// program that the system has for that, xdg-open, open, or url.dll of
	// Windows, which gets the URL as one argument and without a shell.
	Open func(ctx context.Context, url string) error
	// Out gets a few lines for the user, the URL among them. Writing to it must
	// not block for long. Default: [os.Stderr].
	Out io.Writer
}

const (
	// callbackPath is where the browser comes back to, unless something else is
	// registered.
	callbackPath = "/callback"
	// maxHit bounds the head of such a request, its address above all, in bytes.
	maxHit = 64 << 10
	// maxConns bounds the connections at one time.
	maxConns = 64
)

// hitTime bounds one request of a browser.
var hitTime = 10 * time.Second

// Start listens for the browser.
func (l *Loopback) Start(ctx context.Context, registered []string) (PromptSession, error) {
	redirect, listeners, err := listenFor(ctx, registered)
	if err != nil {
		return nil, fmt.Errorf("auth: no port for the browser to come back to: %w", err)
	}
	b := &loopbackServer{
		prompt: l, redirect: redirect, host: strings.TrimSuffix(redirect.Host, ":80"), path: cmp.Or(redirect.EscapedPath(), "/"),
		callback: make(chan string, 1), closed: make(chan struct{}),
	}
	b.server = &http.Server{
		Handler: b, ConnState: b.connState, ErrorLog: log.New(io.Discard, "", 0),
		ReadTimeout: hitTime, WriteTimeout: hitTime, MaxHeaderBytes: maxHit,
	}
	b.server.SetKeepAlivesEnabled(false)
	for _, listener := range listeners {
		b.serving.Go(func() { _ = b.server.Serve(listener) })
	}
	return b, nil
}

// A loopbackServer waits for the browser of one login to come back.
type loopbackServer struct {
	prompt     *Loopback
	redirect   *url.URL
	host, path string // what a request must have
	server     *http.Server
	serving    sync.WaitGroup // who listens
	conns      sync.WaitGroup // who serves a connection
	callback   chan string    // room for the one callback
	closing    sync.Once
	closed     chan struct{} // closed by Close

	mu    sync.Mutex // guards the following
	open  int        // connections
	state Secret     // of the login that is shown; empty before
	taken bool       // its answer is here
}

// RedirectURI implements [PromptSession].
func (b *loopbackServer) RedirectURI() string { return b.redirect.String() }

// Show implements [PromptSession].
func (b *loopbackServer) Show(ctx context.Context, p *Pending) (callback string, err error) {
	ctx, cancel := untilExpired(ctx, p)
	defer cancel()
	b.mu.Lock()
	b.state = p.State
	b.mu.Unlock()
	out := output{b.prompt.Out}
	told := out.say(invitation(p) + "Your browser should open by itself. If it does not, open this page:\n" + address(p))
	page := p.URL
	if p.Device != nil && p.Device.CompleteURL != "" {
		page = p.Device.CompleteURL
	}
	open := b.prompt.Open
	if open == nil {
		open = browser.Open
	}
	if err := open(ctx, page); err != nil {
		if told != nil {
			return "", fmt.Errorf("auth: server %q: the login cannot be shown: %w", p.Server, errors.Join(err, told))
		}
		_ = out.say("No browser opened. Open the page yourself.\n")
	}
	if p.Device != nil {
		return "", nil
	}
	select {
	case callback := <-b.callback:
		return callback, nil
	case <-ctx.Done():
		return "", fmt.Errorf("auth: server %q: waiting for the user's browser to come back: %w", p.Server, ctx.Err())
	case <-b.closed:
		return "", fmt.Errorf("auth: server %q: the login was closed", p.Server)
	}
}

// Close ends all goroutines of the login.
func (b *loopbackServer) Close() error {
	b.closing.Do(func() { close(b.closed) })
	err := b.server.Close()
	b.serving.Wait()
	b.conns.Wait()
	return err
}

// connState counts connections and turns away those that are too many.
func (b *loopbackServer) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		b.conns.Add(1)
		b.mu.Lock()
		b.open++
		tooMany := b.open > maxConns
		b.mu.Unlock()
		if tooMany {
			_ = c.Close()
		}
	case http.StateClosed:
		b.mu.Lock()
		b.open--
		b.mu.Unlock()
		b.conns.Done()
	}
}

// ServeHTTP answers the browser. Any web page can send it here, and any program
// of this machine can come.
func (b *loopbackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, title, text := b.take(r)
	if status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodGet)
	}
	_ = loginpage.Write(w, status, title, text)
	if status == http.StatusOK {
		_ = http.NewResponseController(w).Flush() // Close may come at once
		b.callback <- b.redirect.Scheme + "://" + b.redirect.Host + r.URL.RequestURI()
	}
}

// take decides what a request gets. It takes the answer for itself if it is
// status 200.
func (b *loopbackServer) take(r *http.Request) (status int, title, text string) {
	const back = "You can close this page and go back to the program."
	switch {
	case !strings.EqualFold(strings.TrimSuffix(r.Host, ":80"), b.host):
		return http.StatusMisdirectedRequest, "Wrong address", "This program does not serve that host."
	case r.URL.EscapedPath() != b.path:
		return http.StatusNotFound, "No such page", "There is nothing here."
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "Wrong method", "A login comes back by GET."
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken {
		return http.StatusGone, "Done already", "The program has this login's answer. " + back
	}
	query := r.URL.Query()
	states := query["state"]
	if len(states) != 1 || b.state == "" || subtle.ConstantTimeCompare([]byte(states[0]), []byte(b.state.Reveal())) != 1 {
		return http.StatusBadRequest, "Not this login", "This is no answer to the login that the program waits for."
	}
	b.taken = true
	if query.Has("error") {
		return http.StatusOK, "Not logged in", "The login was not completed. " + back
	}
	return http.StatusOK, "Almost done", "The program has the answer and finishes the login. " + back
}

// loopbackURI parses a redirect URI that leads back to the browser's own machine
// without TLS (RFC 8252, section 7.3). It is nil for others.
func loopbackURI(raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" {
		return nil
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err == nil && addr.IsLoopback() && addr.Zone() == "" || isLocalhost(u) {
		return u
	}
	return nil
}

func isLocalhost(u *url.URL) bool { return strings.EqualFold(u.Hostname(), "localhost") }

// listenFor listens where a browser connects to for the first of the registered
// redirect URIs whose port is free, and returns that. If there is none, it is one
// like the first but with another port, which some authorization servers allow.
func listenFor(ctx context.Context, registered []string) (redirect *url.URL, listeners []net.Listener, err error) {
	anywhere := &url.URL{Scheme: "http", Host: "127.0.0.1", Path: callbackPath}
	known := false
	for _, raw := range registered {
		u := loopbackURI(raw)
		if u == nil {
			continue
		}
		if redirect, listeners, err = listen(ctx, u); err == nil {
			return redirect, listeners, nil
		}
		if !known {
			known, anywhere = true, u
		}
	}
	portless := *anywhere
	portless.Host = strings.TrimSuffix(anywhere.Host, ":"+anywhere.Port())
	return listen(ctx, &portless)
}

// listen listens where a browser connects to for u, which is on any port if u
// has none (RFC 8252, section 7.3).
func listen(ctx context.Context, u *url.URL) (redirect *url.URL, listeners []net.Listener, err error) {
	if u.Port() != "" {
		listeners, err = listenOn(ctx, u, u.Port())
		return u, listeners, err
	}
	// A random port may be free at one address of localhost only.
	for range 3 {
		if listeners, err = listenOn(ctx, u, "0"); err == nil {
			_, port, _ := net.SplitHostPort(listeners[0].Addr().String())
			redirect := *u
			redirect.Host = u.Host + ":" + port
			return &redirect, listeners, nil
		}
	}
	return nil, nil, err
}

// listenOn listens at the address of u. A browser may take either address of
// localhost: no other program is to have one of them.
func listenOn(ctx context.Context, u *url.URL, port string) ([]net.Listener, error) {
	var config net.ListenConfig
	if !isLocalhost(u) {
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
		if err != nil {
			return nil, err
		}
		return []net.Listener{l}, nil
	}
	four, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	_, port, _ = net.SplitHostPort(four.Addr().String())
	six, err := config.Listen(ctx, "tcp6", net.JoinHostPort("::1", port))
	if err == nil {
		return []net.Listener{four, six}, nil
	}
	if probe, none := config.Listen(ctx, "tcp6", "[::1]:0"); none == nil {
		return nil, errors.Join(err, probe.Close(), four.Close())
	}
	return []net.Listener{four}, nil // there is no IPv6
}
