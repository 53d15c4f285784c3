// Package people has the commands about the logins of users at servers.
package people

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/session"
)

// Commands returns the commands about logins.
func Commands(b *belt.Belt) []*cobra.Command {
	return []*cobra.Command{loginCommand(b), logoutCommand(b), sessionsCommand(b)}
}

// A shown is a session in the output of these commands.
type shown struct {
	Account string `json:"account,omitempty"`
	session.Status
	Problem string `json:"problem,omitempty"` // why nothing more is known
}

func loginCommand(b *belt.Belt) *cobra.Command {
	var noBrowser, device bool
	cmd := &cobra.Command{
		Use: "login",
		RunE: b.WithDatabase(b.WithFirst(func(cmd *cobra.Command, c *belt.Catalog, s *config.Server, _ []string) error {
			if noBrowser && device {
				return cli.UsageError("--no-browser and --device are two ways to log in: choose one")
			}
			if s.Err != nil {
				return belt.Explain(s, s.Err)
			}
			if why := s.NoLogin(); why != "" {
				return &cli.Error{Exit: cli.Usage, Server: s.Name, Message: "server " + s.Name + " has no logins: " + why}
			}
			var prompt auth.Prompt = &eitherWay{b.Env}
			if noBrowser {
				prompt = &auth.PasteURL{In: b.Env.Stdin, Out: b.Env.Stderr}
			}
			e := *s
			e.Lazy, e.Disabled = true, false // it is started by the login
			if device {
				e.Auth = &config.Auth{}
				if s.Auth != nil {
					*e.Auth = *s.Auth
				}
				e.Auth.Grant = "device_code"
			}
			return logIn(cmd.Context(), b, c, &e, prompt)
		})),
	}
	b.AddDatabaseFlags(cmd)
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "show the address, and paste where the browser ended")
	cmd.Flags().BoolVar(&device, "device", false, "show a code to type on any device")
	return cmd
}

func logIn(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, prompt auth.Prompt) error {
	h, err := b.Open(ctx, c, []*config.Server{s}, &belt.OpenOptions{Prompt: prompt})
	if err != nil {
		return err
	}
	defer h.Close()
	if report, err := h.Apply(ctx, &config.Config{Servers: []*config.Server{s}}); err != nil || report.Failed[s.Name] != nil {
		return belt.Explain(s, errors.Join(err, report.Failed[s.Name]))
	}
	key := session.Key{Server: s.Name}
	begun, err := h.Login(ctx, key)
	if err == nil {
		err = begun.Wait(ctx)
	}
	if err != nil {
		return failed(ctx, s, err)
	}
	status, err := h.Logins.Sessions().Status(ctx, key)
	if err != nil {
		return err
	}
	b.Out.Printf("logged in at %s", s.Name)
	if status.Issuer != "" {
		b.Out.Printf(" by %s", status.Issuer)
	}
	if len(status.Scopes) > 0 {
		b.Out.Printf(", scopes %s", strings.Join(status.Scopes, " "))
	}
	b.Out.Printf("\n")
	return b.Out.Result(shown{Account: b.Account, Status: status})
}

// failed returns why a login failed, with its exit.
func failed(ctx context.Context, s *config.Server, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	refused, ok := errors.AsType[*auth.OAuthError](err)
	if errors.Is(err, auth.ErrDeclined) || ok && refused.Code == "access_denied" {
		return &cli.Error{Exit: cli.Declined, Server: s.Name, Message: "the user declined to log in at server " + s.Name, Err: err}
	}
	explained := belt.Explain(s, err)
	if e, ok := errors.AsType[*cli.Error](explained); ok && e.Exit != cli.ApprovalNeeded {
		e.Exit, e.Message = cli.LoginNeeded, "logging in at server "+s.Name+" failed: "+s.MaskError(err)
		e.Cure = "mcpbelt doctor " + s.Name
	}
	return explained
}

func logoutCommand(b *belt.Belt) *cobra.Command {
	cmd := &cobra.Command{
		Use: "logout",
		RunE: b.WithDatabase(b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			ctx, name := cmd.Context(), args[0]
			s, findErr := b.Target(ctx, c, name)
			if findErr == nil {
				name = s.Name
			}
			logins, store, err := b.OpenLogins(ctx, b.Account, nil, "")
			if err != nil {
				return err
			}
			defer store.Close()
			defer logins.Close()
			if s != nil && s.NoLogin() == "" {
				logins.Know(s)
			}
			found := false
			for key, err := range logins.Sessions().Keys(ctx) {
				if err != nil {
					return err
				}
				if key.Server != name {
					continue
				}
				found = true
				if s == nil {
					err = logins.Sessions().Forget(ctx, key)
				} else {
					err = logins.Sessions().Logout(ctx, key)
				}
				if err != nil {
					return &cli.Error{Exit: cli.Failed, Server: name, Message: err.Error(), Err: err}
				}
			}
			if !found {
				return &cli.Error{Exit: cli.NotFound, Server: name, Message: "there is no login at " + name, Cure: "mcpbelt sessions lists them"}
			}
			b.Out.Printf("logged out at %s\n", name)
			return b.Out.Result(map[string]string{"loggedOut": name})
		})),
	}
	b.AddDatabaseFlags(cmd)
	return cmd
}

func sessionsCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "sessions",
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, _ []string) error {
			accounts := b.Accounts()
			if b.Account != "" {
				accounts = []string{b.Account}
			}
			list := []shown{}
			for _, a := range accounts {
				of, err := sessionsOf(cmd.Context(), b, c, a)
				if err != nil {
					return err
				}
				list = append(list, of...)
			}
			t := &cli.Table{Headings: []string{"SERVER", "ACCOUNT", "STATE", "RENEWED", "SCOPES", "BY"}, Empty: "There are no logins."}
			for _, s := range list {
				renewed := map[bool]string{false: "no", true: "yes"}[s.Renewable]
				t.Add(s.Key.Server, s.Account, cmp.Or(s.Problem, s.Phase.String()), renewed, strings.Join(s.Scopes, " "), s.Issuer)
			}
			return b.Out.Found(t, map[string][]shown{"sessions": list})
		}),
	}
}

// sessionsOf returns the sessions of an account.
func sessionsOf(ctx context.Context, b *belt.Belt, c *belt.Catalog, account string) (list []shown, err error) {
	logins, store, err := b.OpenLogins(ctx, account, nil, "")
	if err != nil {
		return nil, err
	}
	defer store.Close()
	defer logins.Close()
	for _, s := range c.Servers {
		if s.Err == nil && s.NoLogin() == "" {
			logins.Know(s)
		}
	}
	for key, err := range logins.Sessions().Keys(ctx) {
		if err != nil {
			return nil, err
		}
		one := shown{Account: account}
		if one.Status, err = logins.Sessions().Status(ctx, key); err != nil {
			one.Status, one.Problem = session.Status{Key: key}, err.Error()
		}
		list = append(list, one)
	}
	return list, nil
}
