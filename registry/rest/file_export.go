package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Placeholder is what [Export] wrote in the place of a value that may be secret.
type Placeholder struct {
	// API is the name of the API.
	API string
	// Place is where the value was, such as auth.value.
	Place string
	// Name is the name of the secret that is referred to now.
	Name string
}

// String returns API, place and name on one line.
func (p Placeholder) String() string {
	return "API " + plain.Quote(p.API) + ": " + p.Place + " is ${" + p.Name + "} now"
}

// Export writes APIs as [Parse] reads them, always in the same way and without
// secrets. References to secrets, ${NAME}, stay as they are. A value that is written
// down in auth or headers and may be secret becomes a reference, of which the
// placeholders tell: the name is made of those of the API and the place, such as
// SHOP_AUTH_VALUE. Until there is a secret of that name, calls fail and say so.
//
// Left as they are: user names beside a password, the headers Accept, Accept-Language,
// Cache-Control, Prefer and User-Agent and those whose names end in -Version, and of
// what is sent for a token grant_type, response_type, scope, audience, resource and
// client_id.
//
// The same goes for what endpoints hold, such as the default of a parameter.
//
// The error is an [*APIError] of an API that Parse would refuse; nothing is exported
// then.
func Export(apis ...*API) ([]byte, []Placeholder, error) {
	x := &exporter{taken: map[string]bool{}}
	names := map[string]bool{}
	for _, api := range apis {
		if err := checkAPI(api); err != nil {
			return nil, nil, err
		}
		if names[api.Name] {
			return nil, nil, &APIError{api.Name, []Problem{{Field: "name", Text: "is that of another API, too"}}}
		}
		names[api.Name] = true
		for _, name := range api.Secrets() {
			x.taken[name] = true
		}
	}
	file := struct {
		APIs []*API `json:"apis"`
	}{[]*API{}}
	for _, api := range apis {
		file.APIs = append(file.APIs, x.without(api))
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		return nil, nil, fmt.Errorf("rest: export: %w", err)
	}
	return text.Bytes(), x.left, nil
}

// An exporter makes references of secrets.
type exporter struct {
	api   string
	taken map[string]bool // names of secrets
	left  []Placeholder
}

// without returns an API without its secrets.
func (x *exporter) without(api *API) *API {
	x.api = api.Name
	c := cloneAPI(api)
	if c.Endpoints == nil {
		c.Endpoints = []Endpoint{} // null is none
	}
	a := &c.Auth
	a.Value = x.reference("auth.value", a.Value, a.Type == FetchToken)
	a.User = x.reference("auth.user", a.User, a.Password != "")
	a.Password = x.reference("auth.password", a.Password, false)
	c.Headers = x.references("headers", c.Headers, plainHeader)
	if t := a.Token; t != nil {
		t.URL = x.query("auth.token.url", t.URL)
		t.User = x.reference("auth.token.user", t.User, t.Password != "")
		t.Password = x.reference("auth.token.password", t.Password, false)
		t.Fields = x.references("auth.token.fields", t.Fields, plainField)
		t.Headers = x.references("auth.token.headers", t.Headers, plainHeader)
	}
	return c
}

func (x *exporter) references(at string, values map[string]string, plain func(name string) bool) map[string]string {
	if values == nil {
		return nil
	}
	values = maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		values[name] = x.reference(at+"."+name, values[name], plain(name))
	}
	return values
}

// reference returns what is written for a value: itself if it is plain, empty or a
// reference.
func (x *exporter) reference(at, value string, plain bool) string {
	text, _ := parseSecretText(at, value)
	if plain || text.empty() || slices.ContainsFunc(text.parts, func(p secretPart) bool { return p.name != "" }) {
		return value
	}
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, x.api+"_"+at)
	base = base[:min(len(base), maxSecretName-8)]
	if base[0] >= '0' && base[0] <= '9' {
		base = "_" + base
	}
	name := base
	for n := 2; x.taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	x.taken[name] = true
	x.left = append(x.left, Placeholder{x.api, at, name})
	return "${" + name + "}"
}

// query makes references of the values in the query of an address.
func (x *exporter) query(at, address string) string {
	path, query, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if name, value, found := strings.Cut(part, "="); found {
			parts[i] = name + "=" + x.reference(at+"."+name, value, plainField(name))
		}
	}
	return path + "?" + strings.Join(parts, "&")
}

func plainHeader(name string) bool {
	switch name = http.CanonicalHeaderKey(name); name {
	case "Accept", "Accept-Language", "Cache-Control", "Prefer", "User-Agent":
		return true
	}
	return strings.HasSuffix(name, "-Version")
}

func plainField(name string) bool {
	switch name {
	case "grant_type", "response_type", "scope", "audience", "resource", "client_id":
		return true
	}
	return false
}
