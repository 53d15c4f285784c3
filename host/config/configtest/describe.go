package configtest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// Describe writes down what was read from a config file, or why nothing was, one thing
// a line and without what is empty, for golden files. Secrets are cut: those of a test
// are invented.
func Describe(c *config.Config, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintln(&b, "error", filepath.ToSlash(err.Error()))
		return b.String()
	}
	fmt.Fprintln(&b, "format", c.Format)
	for _, in := range c.Inputs {
		fmt.Fprintf(&b, "input %+v\n", in)
	}
	for _, s := range c.Servers {
		describeServer(&b, "server", s)
	}
	for _, s := range c.Shadowed {
		describeServer(&b, fmt.Sprintf("shadowed by line %d:", s.By.Source.Line), s.Server)
	}
	for _, s := range c.Skipped {
		fmt.Fprintf(&b, "skipped %q line %d: %s\n", s.Title, s.Source.Line, s.Reason)
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(&b, "warning", filepath.ToSlash(w.Error()))
	}
	return b.String()
}

func describeServer(b *strings.Builder, what string, s *config.Server) {
	fmt.Fprintf(b, "%s %s %q line %d, %s, enabled %v\n", what, s.Name, s.Title, s.Source.Line, s.Transport, s.Enabled)
	line := func(name string, value any) {
		switch text := fmt.Sprintf("%+v", value); text {
		case "", "0", "0s", "false", "[]", "map[]", "<nil>":
		default:
			fmt.Fprintf(b, "\t%s: %s\n", name, text)
		}
	}
	line("command", s.Command)
	if s.Args != nil {
		line("args", fmt.Sprintf("%q", s.Args))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		line("env "+name, masked(s.Env[name]))
	}
	line("cwd", s.Cwd)
	line("url", s.URL)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		line("header "+name, masked(s.Headers[name]))
	}
	line("proxy", s.Proxy)
	if s.TLS != nil {
		line("tls", fmt.Sprintf("%+v", *s.TLS))
	}
	line("description", s.Description)
	line("flags", strings.TrimSpace(fmt.Sprint(flagOf("required", s.Required), flagOf("builtin", s.Builtin), flagOf("proposed", s.Proposed), flagOf("lazy", s.Lazy), flagOf("trust", s.Trust), flagOf("quarantined", s.Quarantined))))
	line("ledger", s.Ledger)
	line("connect timeout", s.ConnectTimeout)
	line("read timeout", s.ReadTimeout)
	line("idle timeout", s.IdleTimeout)
	line("identity", s.Identity)
	line("user header", s.UserHeader)
	if s.Auth != nil {
		a := s.Auth
		line("auth", fmt.Sprintf("{ClientID:%s ClientSecret:%v Scopes:%v Issuer:%s RedirectURL:%s}",
			a.ClientID, a.ClientSecret, a.Scopes, a.Issuer, a.RedirectURL))
		line("authorization url", a.AuthorizationURL)
		line("token url", a.TokenURL)
		line("device url", a.DeviceURL)
		line("grant", a.Grant)
		line("login params", a.LoginParams)
		line("ask consent", a.AskConsent)
	}
	if s.Isolation != nil {
		line("isolation", fmt.Sprintf("%+v", *s.Isolation))
	}
	if s.Limits != (config.Limits{}) {
		line("limits", s.Limits)
	}
	if s.Tools.Allow != nil {
		line("allow", fmt.Sprintf("%q", s.Tools.Allow))
	}
	line("deny", s.Tools.Deny)
	line("rename", s.Tools.Rename)
	for _, key := range slices.Sorted(maps.Keys(s.Extra)) {
		line("extra "+key, string(s.Extra[key]))
	}
	if s.Err != nil {
		fmt.Fprintf(b, "\terror: %s\n", strings.ReplaceAll(filepath.ToSlash(s.Err.Error()), "\n", "\n\terror: "))
	}
}

func flagOf(name string, on bool) string {
	if on {
		return name + " "
	}
	return ""
}

// masked shows enough of an invented secret to tell it from others.
func masked(s config.Secret) string {
	text := s.Reveal()
	if len(text) <= 4 {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q (%d bytes)", text[:2]+"****"+text[len(text)-2:], len(text))
}
