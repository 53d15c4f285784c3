// Webbackend is a web program whose users each log in to MCP servers as themselves.
//
//	go run ./examples/webbackend -config mcp.json -state ./state
//
// The config file says which servers there are. Of a remote one with "identity": "user"
// each user has a connection and a login of their own:
//
//	{"mcpServers": {"notes": {"url": "https://notes.example/mcp", "identity": "user"}}}
//
// Users sign in, are sent to log in at the servers that they want to use, come back, and
// call tools. Logins are kept in the state folder, sealed: after a restart no user has to
// log in again. A login at a server that all share is for the administrator.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// A setup is what the flags say.
type setup struct {
	addr   string // to listen at
	url    string // of the program, as browsers see it; empty: http:// and addr
	config string // file
	state  string // folder
	admin  string // user who logs in at the servers that all share
}

func main() {
	var s setup
	flag.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`address` to listen at")
	flag.StringVar(&s.url, "url", "", "`URL` of this program as browsers see it (default http:// and the address)")
	flag.StringVar(&s.config, "config", "mcp.json", "config `file` of the servers")
	flag.StringVar(&s.state, "state", "webbackend-state", "`folder` for logins and what is known of servers")
	flag.StringVar(&s.admin, "admin", "admin", "`user` who logs in at the servers that all share")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, s); err != nil {
		fmt.Fprintln(os.Stderr, "webbackend:", err)
		os.Exit(1)
	}
}

// run serves the program until ctx ends.
func run(ctx context.Context, out io.Writer, s setup) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	s.url = cmp.Or(s.url, "http://"+listener.Addr().String())
	b, err := newBackend(ctx, s)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintln(out, "Open", s.url)
	return errors.Join(b.serve(ctx, listener), b.close())
}

// serve answers browsers until ctx ends.
func (b *backend) serve(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: b.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	err := web.Shutdown(closing)
	<-served
	return err
}

// A backend is the program without its listener.
type backend struct {
	setup
	store  *seal.Store
	logins *login.Logins
	host   *host.Host
	own    map[string]bool // servers where each user has a login of their own
	signIns
}

// newBackend opens what was kept and starts the servers of the config file.
func newBackend(ctx context.Context, s setup) (b *backend, err error) {
	b = &backend{setup: s, own: map[string]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	c, err := config.Load(ctx, s.config, nil)
	if err != nil {
		return b, err
	}
	for _, server := range c.Servers {
		b.own[server.Name] = server.Identity == config.IdentityUser || server.Identity == config.IdentityHeader
	}
	if b.store, err = filestore.Open(ctx, filepath.Join(s.state, "logins"), nil); err != nil {
		return b, err
	}
	b.logins, err = login.New(b.store, &login.Options{
		Session: session.Options{RedirectURL: s.url + "/callback", Logger: slog.Default()},
		Configure: func(_ *config.Server, c *auth.Config) error {
			c.ClientName = "mcpbelt example" // which the users see where they log in
			return nil
		},
	})
	if err != nil {
		return b, err
	}
	// Servers that take longer go on starting; the page says what is wrong with which.
	b.host, err = host.Open(ctx, s.config, &host.Options{
		Logins:   b.logins,
		StateDir: filepath.Join(s.state, "host"),
		Client:   mcp.ClientOptions{Logger: slog.Default()},
	})
	if err != nil {
		return b, err
	}
	return b, nil
}

// close ends the servers, then the logins, then the store.
func (b *backend) close() error {
	var errs []error
	if b.host != nil {
		errs = append(errs, b.host.Close())
	}
	if b.logins != nil {
		errs = append(errs, b.logins.Close())
	}
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	return errors.Join(errs...)
}
