package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// A login is which security schemes the API logs in with.
type login struct {
	keys   map[placed]string // API keys, to the names of their schemes
	chosen map[string]bool
	judged map[*node]string // requirements, to what is missing
	owner  string           // of the secrets
}

// covers reports whether the login has all schemes of a requirement.
func (l *login) covers(requirement *node) bool {
	for _, scheme := range requirement.each() {
		if !l.chosen[scheme.key] {
			return false
		}
	}
	return true
}

// chooseLogin sets the login of the API.
func (d *document) chooseLogin(api *rest.API, ops []*operation) error {
	schemes := d.root.get("components").get("securitySchemes")
	d.login = login{keys: map[placed]string{}, chosen: map[string]bool{}, judged: map[*node]string{}, owner: d.secretOwner(api.BaseURL)}
	for _, at := range schemes.each() {
		if s, l := d.resolve(at); l == nil && s.get("type").text() == "apiKey" {
			name, in := s.get("name").text(), rest.Place(s.get("in").text())
			if in == rest.InHeader {
				name = strings.ToLower(name)
			}
			d.login.keys[placed{in, name}] = at.key
		}
	}
	wanted := d.opts.Security
	if wanted == nil {
		wanted = d.firstLogin(api, ops)
	}
	for i, name := range wanted {
		at := schemes.get(name)
		if at == nil {
			return optionError(fmt.Sprintf("Security[%d]", i), "the document has no security scheme "+plain.Quote(name))
		}
		l := d.logIn(api, at)
		if l == nil {
			d.login.chosen[name] = true
			continue
		}
		if d.opts.Security != nil {
			return optionError(fmt.Sprintf("Security[%d]", i), l.reason)
		}
		d.problems.add(nil, l.at, "", l.reason)
	}
	return nil
}

// firstLogin returns the schemes of the first requirement that can be had, of the document
// and of its operations.
func (d *document) firstLogin(api *rest.API, ops []*operation) []string {
	seen, tried := map[*node]bool{}, map[string]bool{}
	for i := range len(ops) + 1 {
		all := d.root.get("security")
		if i > 0 {
			all = d.security(ops[i-1])
		}
		if seen[all] {
			continue
		}
		seen[all] = true
		for _, requirement := range all.each() {
			var schemes []string
			for _, s := range requirement.each() {
				schemes = append(schemes, s.key)
			}
			key := strings.Join(schemes, "\x00")
			if schemes != nil && !tried[key] && d.canLogIn(api, schemes) {
				return schemes
			}
			tried[key] = true
		}
	}
	return nil
}

// canLogIn reports whether an API can log in with some schemes at once.
func (d *document) canLogIn(api *rest.API, schemes []string) bool {
	trial := &rest.API{Name: api.Name}
	for _, name := range schemes {
		at := d.root.get("components").get("securitySchemes").get(name)
		if at == nil || d.logIn(trial, at) != nil {
			return false
		}
	}
	return true
}

// security returns the requirements of an operation, of which one is enough.
func (d *document) security(op *operation) *node {
	if own := op.at.get("security"); own != nil {
		return own
	}
	return d.root.get("security")
}

// suits refuses an operation that the login of the API is not enough for.
func (d *document) suits(op *operation) *loss {
	all := d.security(op)
	missing, known := d.login.judged[all]
	if !known {
		missing = d.login.missing(all)
		d.login.judged[all] = missing
	}
	if missing == "" {
		return nil
	}
	return lost(all, "it needs the login "+plain.Quote(missing)+", which this API has not: take it into an API of its own by Options.Security")
}

// missing names the schemes that a login would have to have; none if it is enough.
func (l *login) missing(all *node) string {
	names := map[string]bool{}
	for _, requirement := range all.each() {
		if l.covers(requirement) {
			return ""
		}
		for _, s := range requirement.each() {
			if !l.chosen[s.key] {
				names[s.key] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " or ")
}

// logIn adds a security scheme to what an API logs in with.
func (d *document) logIn(api *rest.API, at *node) *loss {
	s, l := d.resolve(at)
	if l != nil {
		return l
	}
	secret := secretName(d.login.owner, at.key)
	value := "${" + secret + "}"
	auth := rest.Auth{Type: rest.Bearer, Value: value}
	header, note := "", ""
	switch typ := s.get("type").text(); typ {
	case "apiKey":
		name := s.get("name").text()
		switch in := s.get("in").text(); {
		case name == "":
			return lost(s, "an API key has a name")
		case in == "header":
			header = name
		case in == "cookie" && api.Headers["Cookie"] == "":
			header, value = "Cookie", strings.ReplaceAll(name, "$", "$$")+"="+value
		case in == "query":
			auth = rest.Auth{Type: rest.APIKey, In: rest.InQuery, Name: name, Value: value}
		default:
			return lost(s, "an API key is in a header, the query or a cookie, of which there is one")
		}
	case "http":
		switch scheme := strings.ToLower(s.get("scheme").text()); scheme {
		case "bearer":
		case "basic":
			auth = rest.Auth{Type: rest.Basic, User: "${" + secret + "_USER}", Password: "${" + secret + "_PASSWORD}"}
		default:
			return lost(s, "the HTTP authentication "+plain.Quote(scheme)+" is not supported, only basic and bearer are")
		}
	case "oauth2", "openIdConnect":
		note = "a login by " + typ + " is not made here: " + value + " has to be an access token that is valid, see rest.Options.Secrets"
	default:
		return lost(s, "the login "+plain.Quote(typ)+" is not supported")
	}
	trial := rest.API{Name: "api", BaseURL: "https://api.example", Auth: api.Auth, Headers: maps.Clone(api.Headers)}
	switch {
	case header != "":
		if trial.Headers == nil {
			trial.Headers = map[string]string{}
		}
		trial.Headers[header] = value
	case api.Auth.Type == "":
		trial.Auth = auth
	default:
		return lost(s, "an API has one login, and beside it keys in headers only")
	}
	if reason := refusedAPI(&trial); reason != "" {
		return lost(s, reason)
	}
	api.Auth, api.Headers = trial.Auth, trial.Headers
	// Not while it is only tried.
	if note != "" && api.BaseURL != "" {
		d.problems.add(nil, s, "", note)
	}
	return nil
}

// secretOwner returns what the names of an API's secrets begin with. Unless the
// program names the API, it is the host that they are sent to: a document may say
// where it is from, but not get what is meant for another host.
func (d *document) secretOwner(base string) string {
	if d.opts.Name != "" {
		return d.opts.Name
	}
	if u, err := url.Parse(base); err == nil {
		return strings.ToLower(u.Host)
	}
	return ""
}

// secretName returns the name of a secret, such as REST_PETSTORE___API_KEY. Nothing
// else is called so: a document could name any variable of the environment otherwise.
// The document chooses the scheme, and three underscores are in no name of a host that
// can be registered: so what example.co calls a scheme does not make it example.co.uk.
func secretName(owner, scheme string) string {
	name := "REST"
	if owner != "" {
		name += "_" + secretWord(owner)
	}
	return cutName(name+"___"+secretWord(scheme), maxSecretName)
}

const maxSecretName = 240 // package rest takes longer ones

func secretWord(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z':
			b.WriteRune(r - 'a' + 'A')
		case r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_':
			b.WriteRune(r)
		case r == '.' || r == ' ':
			b.WriteByte('_')
		case r < 0x80:
			b.WriteString("__")
		default:
			fmt.Fprintf(&b, "U%X", r)
		}
	}
	return b.String()
}
