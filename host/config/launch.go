package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// Launch returns what starting the server means, as a person is shown it who decides
// whether it may: its String is the whole command, or address. The program and its folder
// are as the entry has them, and not looked up; a host approves the launch with both
// absolute. It may hold secrets.
func (s *Server) Launch() *consent.Launch {
	l := &consent.Launch{
		Server:    s.Name,
		Title:     s.Title,
		Source:    s.Source.String(),
		Project:   launchProject(s.Source.File),
		Transport: s.Transport,
		Isolation: launchIsolation(s.Isolation),
		Identity:  launchIdentity(s),
		Tools:     launchTools(s.Tools),

		References: slices.Clone(s.references),
	}
	launchValues(l, s)
	if s.Transport != TransportStdio {
		l.URL, l.Login, l.Route = s.URL, launchLogin(s.Auth), launchRoute(s)
		return l
	}
	l.Path, l.Args, l.Dir = s.Command, slices.Clone(s.Args), s.Cwd
	return l
}

// launchProject returns the real folder of a config file, so that a link that leads
// to another project now does not take the decisions with it.
func launchProject(file string) string {
	if file == "" {
		return ""
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return filepath.Dir(file)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// launchValues notes the variables and headers of an entry as written. The authors of the
// entry may change a file that stands there as ${file:path}, so its content counts, too.
func launchValues(l *consent.Launch, s *Server) {
	env, headers, clientSecret := s.written()
	note := func(key string, written, values map[string]Secret, separator string, spell func(string) string) []string {
		list := make([]string, 0, len(written))
		for _, name := range slices.Sorted(maps.Keys(written)) {
			text := written[name].Reveal()
			list = append(list, spell(name)+separator+text)
			if strings.Contains(text, "{file:") && values[name].Reveal() != text {
				l.References = append(l.References, fmt.Sprintf("%s.%s: SHA-256 %x", key, name, sha256.Sum256([]byte(values[name].Reveal()))))
			}
		}
		slices.Sort(list)
		return list
	}
	if s.Transport == TransportStdio {
		l.Env = note("env", env, s.Env, "=", func(name string) string { return name })
		return
	}
	l.Headers = note("headers", headers, s.Headers, ": ", http.CanonicalHeaderKey)
	l.ClientSecret = clientSecret.Reveal()
}

func launchIdentity(s *Server) string {
	switch s.Identity {
	case "", identityShared:
		return ""
	case IdentityHeader:
		if s.UserHeader != "" {
			return fmt.Sprintf("each user's own, in the header %q and what the program sends", http.CanonicalHeaderKey(s.UserHeader))
		}
		return "each user's own, in the headers that the program sends"
	}
	return fmt.Sprintf("each user's own (%s)", s.Identity)
}

// launchTools says which tools of a server are used.
func launchTools(f ToolFilter) string {
	if f.Allow == nil && len(f.Deny) == 0 && len(f.Rename) == 0 && !f.SkipOutputCheck {
		return ""
	}
	if f.Allow != nil {
		f.Allow = append([]string{}, slices.Sorted(slices.Values(f.Allow))...)
	}
	f.Deny = slices.Sorted(slices.Values(f.Deny))
	return jsonText(f)
}

// launchLogin says all that an entry says of the login but for the secret, so that none of
// it can change unseen.
func launchLogin(a *Auth) string {
	if a == nil {
		return ""
	}
	shown := *a
	shown.ClientSecret = ""
	return jsonText(shown)
}

// launchIsolation says all that an entry says of the confinement, so that none of it
// can change unseen.
func launchIsolation(i *Isolation) string {
	if i == nil || i.Kind == "" || i.Kind == "none" {
		return ""
	}
	return jsonText(i)
}

// jsonText returns what an entry says of a key, which always can be encoded.
func jsonText(v any) string {
	text, _ := canonjson.Marshal(v)
	return string(text)
}
