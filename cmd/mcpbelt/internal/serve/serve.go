package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
)

func serveCommand(b *belt.Belt) *cobra.Command {
	var stdio, reachable, noKey bool
	var listen, keyFile, adminRole, replicaURL, ask, client string
	var variables []string
	var t tokens
	var p public
	cmd := &cobra.Command{
		Use: "serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			b.HideFile(keyFile)
			b.HideFile(t.keyFile)
			key, l, err := open(ctx, b, stdio, reachable, noKey, listen, keyFile, adminRole)
			if l != nil {
				defer l.Close()
			}
			if err == nil {
				err = p.open(l, noKey, adminRole)
			}
			if err == nil {
				err = t.open(ctx, b, l, p.text, noKey, adminRole)
			}
			if err == nil {
				err = useDatabase(ctx, b, replicaURL)
			}
			if err != nil {
				return err
			}
			approver, err := asking(ask)
			if err != nil {
				return err
			}
			edit := func(s *config.Server) { s.Required = false }
			so := options{asks: approver, scripts: true, edit: edit, replica: replicaURL, tokens: t, public: p, variables: variables, client: client}
			if l != nil && (!noKey || adminRole != "") {
				if so.keys, err = openKeys(ctx, b); err != nil {
					return err
				}
			}
			if l != nil && !noKey {
				var ways []access.Authenticator
				if so.keys != nil {
					ways = append(ways, so.keys.Authenticate)
				}
				if t.ofIssuers != nil {
					ways = append(ways, t.ofIssuers)
				}
				so.authenticate = access.Any(append(ways, keyed(key))...)
			}
			if so.roles = rolesOf(adminRole); so.roles != nil {
				so.callback = p.base(l) + callbackPath
				if p.text == "" && isLoopback(l) { // so that a browser that reaches the page reaches this, too
					if own, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err == nil { // else no app is shown
						defer own.Close()
						so.sandbox = own
					}
				}
			}
			s, err := newStation(ctx, b, so)
			if err != nil {
				return err
			}
			s.stop = stop
			var aside sync.WaitGroup
			aside.Go(func() { s.follow(ctx) })
			err = s.run(ctx, l, key, noKey, ask)
			stop()
			aside.Wait()
			return errors.Join(err, s.close(ctx))
		},
	}
	b.AddDatabaseFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&variables, "admin-variable", nil, "let those with the role operate name this `variable` of the environment in entries; can be repeated")
	f.StringVar(&replicaURL, "replica", "", "tell the others that share the database this `URL`, under which they reach this one")
	f.BoolVar(&stdio, "stdio", false, "serve standard input and output")
	f.StringVar(&client, "client", "", "leave out the servers that this `program` has in a file of its own, as connect says")
	f.StringVar(&listen, "listen", "127.0.0.1:7411", "listen on this `address`")
	f.BoolVar(&reachable, "public", false, "allow an address that other machines can reach")
	f.StringVar(&p.text, "public-url", "", "say that clients reach it by this `URL`, as through a proxy")
	f.StringSliceVar(&p.hosts, "host", nil, "answer requests for this `name`, too, with or without port; can be repeated")
	f.StringSliceVar(&p.origins, "origin", nil, "let scripts of pages of this `origin` use it; can be repeated")
	f.StringVar(&keyFile, "key-file", "", "take the key from this `file`")
	f.BoolVar(&noKey, "no-key", false, "want no key: every program of this machine can use it")
	f.StringVar(&adminRole, "admin", "", "serve a page to manage servers, for `role` view, operate (if none is named) or stdio:write")
	f.Lookup("admin").NoOptDefVal = string(admin.Operate)
	cli.FixedFlag(cmd, "admin", string(admin.View), string(admin.Operate), string(admin.StdioWrite))
	f.StringSliceVar(&t.issuers, "issuer", nil, "let in clients with tokens of the authorization server at this `URL`; can be repeated")
	f.StringSliceVar(&t.audiences, "audience", nil, "take tokens for this `audience`, beside those for the URL that is printed; can be repeated")
	f.StringVar(&t.keyFile, "jwt-key-file", "", "give those the role of --admin whose token (HS256) is signed with the key in this `file`")
	f.StringVar(&ask, "ask", "", "ask the user about calls that are `destructive`, or about all (if nothing is named) that are not known to be read-only")
	f.Lookup("ask").NoOptDefVal = askAll
	cli.FixedFlag(cmd, "ask", askDestructive, askAll)
	return cmd
}

// useDatabase opens the database, if one is named, and puts the servers of the config file into it if it never had any.
func useDatabase(ctx context.Context, b *belt.Belt, replicaURL string) error {
	if u, err := url.Parse(replicaURL); replicaURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		return cli.UsageError("--replica takes an http or https URL without a user")
	}
	if err := b.OpenDatabase(ctx); err != nil {
		return err
	}
	if b.Database == nil {
		if replicaURL != "" {
			return cli.UsageError("--replica is for those that share a --database")
		}
		return nil
	}
	n, err := b.ImportServers(ctx)
	if n > 0 {
		(&cli.Error{Message: "servers of the config file that are in the database from now on: " + strconv.Itoa(n)}).Print(b.Env.Stderr, b.Out.AsJSON)
	}
	return err
}

// open checks the flags, and returns the key and the listener, which is nil for stdio.
func open(ctx context.Context, b *belt.Belt, stdio, public, noKey bool, listen, keyFile, adminRole string) (string, net.Listener, error) {
	switch {
	case adminRole != "" && rolesOf(adminRole) == nil:
		return "", nil, cli.UsageError("there is no role %q: choose view, operate or stdio:write", adminRole)
	case adminRole != "" && stdio:
		return "", nil, cli.UsageError("the page needs an address: leave out --stdio")
	case stdio:
		return "", nil, nil
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return "", nil, cli.UsageError("the address %q is not HOST:PORT", listen)
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case !loopback && !public:
		return "", nil, cli.UsageError("other machines can reach %s: say so with --public", listen)
	case !loopback && noKey:
		return "", nil, cli.UsageError("without a key it listens on a loopback address only: leave out --no-key, or choose --listen 127.0.0.1:PORT")
	}
	key := rand.Text()
	if keyFile != "" {
		data, err := ownfile.Read(b.Abs(keyFile), maxKeyFile, ownfile.Own)
		if err != nil {
			return "", nil, cli.UsageError("the key cannot be read: %v", err)
		}
		const least = 16
		if key = strings.TrimSpace(string(data)); len(key) < least {
			return "", nil, cli.UsageError("the key in %s has less than %d characters", keyFile, least)
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return "", nil, &cli.Error{Exit: cli.Failed, Message: err.Error(), Cure: "choose another address with --listen", Err: err}
	}
	return key, l, nil
}

// maxKeyFile bounds the file of a key, in bytes.
const maxKeyFile = 64 << 10

// run serves until the context ends.
func (s *station) run(ctx context.Context, l net.Listener, key string, noKey bool, ask string) error {
	if l == nil {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go endWithParent(ctx, cancel)
		err := s.gateway.ServeStdio(ctx, "", s.belt.Env.Stdin, s.belt.Env.Stdout)
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	control := make(chan error, 1)
	controlled, end := context.WithCancel(ctx)
	defer end()
	listening := make(chan struct{})
	go func() {
		control <- s.listen(controlled, "serve-"+strconv.Itoa(os.Getpid()), func(net.Listener) error { close(listening); return nil })
	}()
	select {
	case <-listening:
	case err := <-control:
		// Without a state folder there is no control; it serves all the same.
		control <- nil
		(&cli.Error{Message: "approve and top cannot see this: " + err.Error()}).Print(s.belt.Env.Stderr, s.belt.Out.AsJSON)
	}
	if s.apps != nil {
		sandbox := &http.Server{Handler: s.apps.Sandbox(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
		var aside sync.WaitGroup
		aside.Go(func() { _ = sandbox.Serve(s.sandbox) }) // until it is closed
		defer aside.Wait()
		defer sandbox.Close()
	}
	err := s.serve(ctx, l, s.front(), func(l net.Listener) error {
		base := s.public.base(l)
		url, link := base+"/mcp", ""
		if s.page != nil {
			link = base + s.page.Link(s.adminKey)
		}
		if s.belt.Out.AsJSON {
			shown := map[string]string{"url": url, "key": key}
			if noKey {
				delete(shown, "key")
			}
			if link != "" {
				shown["admin"], shown["adminKey"] = link, s.adminKey
			}
			return s.belt.Out.JSONLine(shown)
		}
		text := "URL: " + url + "\n"
		if !noKey {
			text += "Key: " + key + "\n"
		}
		if link != "" {
			text += "Page: " + link + "\nKey of the page: " + s.adminKey + "\n"
		}
		text += whoMayCall(noKey, ask)
		s.belt.Out.Printf("%s", text) // in one piece, for those who wait for it
		return s.belt.Out.Err()
	})
	end()
	return errors.Join(err, <-control)
}

// endWithParent ends a context when the process that has started this one is gone: the other end of standard input may
// be held by others, such as a child of that. On Windows it does nothing.
func endWithParent(ctx context.Context, end context.CancelFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for parent := os.Getppid(); os.Getppid() == parent; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	end()
}

// keyed lets in requests with the key, and those of other commands, which come over a socket that no other user
// can reach.
func keyed(key string) access.Authenticator {
	known := bearer(key, "key")
	return func(r *http.Request) (*access.Caller, error) {
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && at.Network() == "unix" {
			return &access.Caller{Credential: "socket"}, nil
		}
		return known(r)
	}
}

// bearer lets in requests with a key, as callers with the name of a credential.
func bearer(key, credential string) access.Authenticator {
	want := sha256.Sum256([]byte(key))
	return func(r *http.Request) (*access.Caller, error) {
		token, err := access.BearerToken(r)
		if err != nil && !errors.Is(err, access.ErrUnrecognized) {
			return nil, err
		}
		if got := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return nil, &access.RefusedError{Reason: "the key is missing or wrong", Answer: "the key is missing or wrong: send it as Authorization: Bearer KEY", Err: err}
		}
		return &access.Caller{Credential: credential}, nil
	}
}

func daemonCommand(b *belt.Belt) *cobra.Command {
	var stop, inBackground bool
	var idle time.Duration
	cmd := &cobra.Command{
		Use: "daemon",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case stop && inBackground:
				return cli.UsageError("--stop and --background are two things: choose one")
			case stop:
				return stopDaemon(cmd.Context(), b)
			case inBackground:
				return startBackground(cmd, b)
			}
			b.NoLedger = true // the commands that use it have theirs
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			edit := func(s *config.Server) { s.Lazy, s.Required = true, false }
			s, err := newStation(ctx, b, options{commands: true, mode: "direct", edit: edit})
			if err != nil {
				return err
			}
			s.stop = cancel
			s.lastUse.Store(time.Now().UnixNano())
			var aside sync.WaitGroup
			aside.Go(func() { s.follow(ctx) })
			aside.Go(func() { s.endIdle(ctx, idle) })
			err = s.listen(ctx, b.DaemonName(), func(l net.Listener) error {
				if b.Out.AsJSON {
					return b.Out.JSONLine(map[string]string{"socket": l.Addr().String()})
				}
				b.Out.Printf("listening on %s\n", l.Addr())
				return b.Out.Err()
			})
			cancel()
			aside.Wait()
			return errors.Join(err, s.close(ctx))
		},
	}
	cmd.Flags().BoolVar(&inBackground, "background", false, "start it as a process of its own, and return when it serves")
	cmd.Flags().BoolVar(&stop, "stop", false, "end the daemon that runs")
	cmd.Flags().DurationVar(&idle, "idle", 30*time.Minute, "end when it was not used for this `time`; negative: never")
	return cmd
}

// endIdle ends the station when it was not used for a time.
func (s *station) endIdle(ctx context.Context, idle time.Duration) {
	for idle >= 0 {
		unused := time.Since(time.Unix(0, s.lastUse.Load()))
		wait := idle - unused
		if s.inFlight.Load() > 0 {
			wait = idle
		}
		if wait <= 0 {
			s.stop()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// stopDaemon tells the daemon to end.
func stopDaemon(ctx context.Context, b *belt.Belt) error {
	station, err := b.Station(b.DaemonName())
	if err != nil {
		return err
	}
	defer station.Close()
	var answer any
	if err := station.Ask(ctx, http.MethodPost, "stop", &answer); err != nil {
		return &cli.Error{Exit: cli.NotFound, Message: "no daemon runs", Cure: "mcpbelt daemon --background", Err: err}
	}
	// Then another one can begin; what is under way may take longer.
	for err := error(nil); err == nil && ctx.Err() == nil; err = station.Ask(ctx, http.MethodGet, "servers", new(any)) {
		time.Sleep(5 * time.Millisecond)
	}
	b.Out.Printf("the daemon has ended\n")
	return b.Out.Result(answer)
}
