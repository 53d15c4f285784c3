package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
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

// chooseLogin sets the login of the API: that of the options, or that of the first requirement
// that can be had, of the document and of its operations.
func (d *document) chooseLogin(api *rest.API, ops []*operation) error {
	d.login = login{keys: map[placed]string{}, judged: map[*node]string{}, owner: d.secretOwner(api.BaseURL)}
	for _, at := range d.schemes().each() {
		if s, l := d.resolve(at); l == nil && s.get("type").text() == "apiKey" {
			name, in := s.get("name").text(), rest.Place(s.get("in").text())
			if in == rest.InHeader {
				name = strings.ToLower(name)
			}
			d.login.keys[placed{in, name}] = at.key
		}
	}
	if d.opts.Security != nil {
		if i, l := d.logIn(api, d.opts.Security); l != nil {
			return optionError(fmt.Sprintf("Security[%d]", i), l.reason)
		}
		return nil
	}
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
			schemes := keysOf(requirement)
			key := strings.Join(schemes, "\x00")
			if schemes != nil && !tried[key] {
				if _, l := d.logIn(api, schemes); l == nil {
					return nil
				}
			}
			tried[key] = true
		}
	}
	return nil
}

// schemes returns the security schemes of the document.
func (d *document) schemes() *node { return d.root.get("components").get("securitySchemes") }

func keysOf(object *node) (keys []string) {
	for _, m := range object.each() {
		keys = append(keys, m.key)
	}
	return keys
}

// security returns the requirements of an operation, of which one is enough.
func (d *document) security(op *operation) *node {
	if own := op.at.get("security"); own != nil {
		return own
	}
	return d.root.get("security")
}

// suits refuses an operation that the login of the API is not enough for.
func (b *builder) suits() *loss {
	all := b.security(b.op)
	missing, known := b.login.judged[all]
	if !known {
		missing = b.login.missing(all)
		b.login.judged[all] = missing
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
		lacks := slices.DeleteFunc(keysOf(requirement), func(scheme string) bool { return l.chosen[scheme] })
		if len(lacks) == 0 {
			return ""
		}
		for _, scheme := range lacks {
			names[scheme] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " or ")
}

// logIn makes an API log in with some schemes at once. If it cannot, the index is of the scheme
// that is to blame, and nothing is changed.
func (d *document) logIn(api *rest.API, schemes []string) (int, *loss) {
	trial := &rest.API{Name: "api", BaseURL: "https://api.example", Headers: map[string]string{}}
	chosen, notes := map[string]bool{}, map[*node]string{}
	for i, name := range schemes {
		at := d.schemes().get(name)
		if at == nil {
			return i, lost(nil, "the document has no security scheme "+plain.Quote(name))
		}
		s, l := d.resolve(at)
		if l == nil {
			l = d.addScheme(trial, s, at.key)
		}
		if l == nil {
			if reason := refusedAPI(trial); reason != "" {
				l = lost(s, reason)
			}
		}
		if l != nil {
			return i, l
		}
		chosen[name] = true
		if typ := s.get("type").text(); trial.Auth.Type == rest.Bearer && (typ == "oauth2" || typ == "openIdConnect") {
			notes[s] = "a login by " + typ + " is not made here: " + trial.Auth.Value + " has to be an access token that is valid, see rest.Options.Secrets"
		}
	}
	api.Auth, d.login.chosen = trial.Auth, chosen
	if len(trial.Headers) > 0 {
		api.Headers = trial.Headers
	}
	for at, note := range notes { // there is one, or none
		d.problems.tell(nil, at, "", note)
	}
	return 0, nil
}

// addScheme adds a security scheme to what an API logs in with.
func (d *document) addScheme(api *rest.API, s *node, scheme string) *loss {
	secret := secretName(d.login.owner, scheme)
	value := "${" + secret + "}"
	auth := rest.Auth{Type: rest.Bearer, Value: value}
	switch typ := s.get("type").text(); typ {
	case "apiKey":
		name := s.get("name").text()
		switch in := s.get("in").text(); {
		case name == "":
			return lost(s, "an API key has a name")
		case in == "header":
			api.Headers[name] = value
			return nil
		case in == "cookie" && api.Headers["Cookie"] == "":
			api.Headers["Cookie"] = strings.ReplaceAll(name, "$", "$$") + "=" + value
			return nil
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
	default:
		return lost(s, "the login "+plain.Quote(typ)+" is not supported")
	}
	if api.Auth.Type != "" {
		return lost(s, "an API has one login, and beside it keys in headers only")
	}
	api.Auth = auth
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

// odd matches what no name of a variable has, but for the dot and the blank.
var odd = regexp.MustCompile(`[^0-9A-Za-z_. ]`)

func secretWord(text string) string {
	text = odd.ReplaceAllStringFunc(text, func(sign string) string {
		if len(sign) == 1 {
			return "__"
		}
		return fmt.Sprintf("U%X", []rune(sign)[0])
	})
	return strings.ToUpper(strings.NewReplacer(".", "_", " ", "_").Replace(text))
}
