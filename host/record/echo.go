package record

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

// An echo puts the secrets of a stored record in the place of their masks.
type echo struct {
	old, next *config.Server
	errs      []error
}

func (e *echo) fail(code Code, field string) {
	e.errs = append(e.errs, &Error{Code: code, Name: e.old.Title, Field: field})
}

// restore goes through all that may be a secret. Fields of which nothing is said are in next
// as they were; a secret in them must not go elsewhere by that.
func (e *echo) restore(says func(key string) bool) {
	sameHost := e.url(says("url"))
	sameHost = e.route() && sameHost
	sameProgram := e.sameProgram()
	e.values("headers", e.old.Headers, e.next.Headers, says("headers"), sameHost, http.CanonicalHeaderKey)
	e.values("env", e.old.Env, e.next.Env, says("env"), sameProgram, strings.Clone)
	e.args("args", e.old.Args, e.next.Args, says("args"), sameProgram)
	if e.next.Isolation != nil {
		e.args("isolation.args", cmp.Or(e.old.Isolation, new(config.Isolation)).Args, e.next.Isolation.Args, says("isolation"), sameProgram)
	}
	e.clientSecret(says("auth"), sameHost)
}

// values restores the values of a map of which spell is the one spelling of a key.
func (e *echo) values(field string, old, next map[string]config.Secret, said, same bool, spell func(string) string) {
	stored := make(map[string]string, len(old))
	for name, value := range old {
		stored[spell(name)] = value.Reveal()
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		before, had := stored[spell(name)]
		value, code := restored(name, next[name].Reveal(), before, had, said, same)
		if code != "" {
			e.fail(code, field+"."+name)
		}
		next[name] = config.Secret(value)
	}
}

// restored returns what the value of a key stands for: stored if it is the mask of that. The code
// is not empty if it cannot stand for anything. What nothing is said of moves only if it is no
// literal, whatever it is called.
func restored(name, value, stored string, had, said, same bool) (string, Code) {
	shown := mask.Named(name, stored)
	secret := had && shown != stored
	switch {
	case !said:
		if had && mask.String(stored) != stored && !same {
			return "", codeSecretMoved
		}
	case had && value == stored:
		// A user who gives it in clear knows it. A text with stars may be its own mask.
	case secret && value == shown:
		if !same {
			return "", codeSecretMoved
		}
		return stored, ""
	case mask.IsMasked(value):
		return "", codeMaskUnmatched
	}
	return value, ""
}

func (e *echo) clientSecret(said, sameHost bool) {
	next := e.next.Auth
	if next == nil {
		return
	}
	old := cmp.Or(e.old.Auth, new(config.Auth))
	same := sameHost && old.Issuer == next.Issuer && old.TokenURL == next.TokenURL
	value, code := restored("clientSecret", next.ClientSecret.Reveal(), old.ClientSecret.Reveal(), old.ClientSecret != "", said, same)
	if code != "" {
		e.fail(code, "auth.clientSecret")
	}
	next.ClientSecret = config.Secret(value)
}

// sameProgram reports whether the same program is run, in the same image.
func (e *echo) sameProgram() bool {
	image := func(r *config.Server) string {
		if r.Isolation == nil || r.Isolation.Kind != config.IsolationDocker {
			return ""
		}
		return r.Isolation.Image
	}
	return e.old.Command == e.next.Command && image(e.old) == image(e.next)
}

// args restores the arguments that are masked. One is found by its mask and the flag
// before it; of several, the one at the same place counts.
func (e *echo) args(field string, old, next []string, said, same bool) {
	shown := mask.Args(old)
	before := func(args []string, i int) string {
		if i == 0 {
			return ""
		}
		return mask.FlagName(args[i-1])
	}
	given := slices.Clone(next)
	for i, arg := range given {
		at := fmt.Sprintf("%s[%d]", field, i)
		if !said {
			if shown[i] != arg && !same {
				e.fail(codeSecretMoved, at)
			}
			continue
		}
		if !mask.IsMasked(arg) || i < len(old) && old[i] == arg {
			continue
		}
		found := map[string]bool{}
		for j, mask := range shown {
			if mask == arg && before(old, j) == before(given, i) {
				found[old[j]] = true
			}
		}
		switch {
		case len(found) == 0:
			e.fail(codeMaskUnmatched, at)
		case !same:
			e.fail(codeSecretMoved, at)
		case i < len(old) && shown[i] == arg && found[old[i]]:
			next[i] = old[i]
		case len(found) == 1:
			for value := range found {
				next[i] = value
			}
		default:
			e.fail(codeMaskUnmatched, at)
		}
	}
}

// url restores a URL that is masked as a whole, and reports whether it leads to the same host.
func (e *echo) url(said bool) (sameHost bool) {
	old, next := e.old.URL, e.next.URL
	if !said || next == old {
		return old == next
	}
	if masked := mask.URL(old); masked != old && next == masked {
		e.next.URL = old
		return true
	}
	if mask.IsMasked(next) {
		e.fail(codeMaskUnmatched, "url")
	}
	return authority(old) == authority(next)
}

// authority returns the scheme and the host of a URL in one spelling, or all of it
// where these cannot be told.
func authority(s string) string {
	if !mask.IsURL(s) {
		return "whole " + s
	}
	u := mask.CutURL(s)
	if strings.Contains(u.Host, "$") || strings.Contains(u.User, "$") {
		// References are the same if they look the same, unless one goes on behind the
		// seam.
		if open := strings.LastIndex(u.Host, "${"); open >= 0 && !strings.Contains(u.Host[open:], "}") {
			return "whole " + s
		}
		return u.Scheme + u.User + "@" + u.Host
	}
	parsed, err := url.Parse(s)
	if err != nil || mask.IsMasked(u.User) {
		return "whole " + s
	}
	scheme, host := strings.ToLower(parsed.Scheme), strings.ToLower(parsed.Host)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host
}

// route restores the proxy if it is masked, and reports whether the server is reached in
// the same way: what secrets go through, and who may answer.
func (e *echo) route() bool {
	old, next := e.old, e.next
	if masked := mask.URL(old.Proxy); old.Proxy != "" && masked != old.Proxy && next.Proxy == masked {
		next.Proxy = old.Proxy
	}
	if mask.IsMasked(next.Proxy) && next.Proxy != old.Proxy {
		e.fail(codeMaskUnmatched, "proxy")
	}
	return old.Proxy == next.Proxy && *cmp.Or(old.TLS, new(config.TLS)) == *cmp.Or(next.TLS, new(config.TLS))
}
