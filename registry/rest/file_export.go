package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// Export writes APIs as [Parse] reads them, always in the same way and without
// secrets. References to secrets, ${NAME}, stay as they are. A value that is written
// down in auth or headers and may be secret becomes a reference. Their names, which Export
// returns, are made of those of the API and the place, such as SHOP_AUTH_VALUE. Until there is
// a secret of that name, calls fail and say so.
//
// Left as they are: user names beside a password, the headers Accept, Accept-Language,
// Cache-Control, Prefer and User-Agent and those whose names end in -Version, and of
// what is sent for a token grant_type, response_type, scope, audience, resource and
// client_id. The same goes for what endpoints hold, such as the default of a parameter.
//
// The error is an [*APIError] of an API that Parse would refuse; nothing is exported
// then.
func Export(apis ...*API) (data []byte, secrets []string, err error) {
	names, taken := map[string]bool{}, map[string]bool{}
	for _, api := range apis {
		if err := checkAPI(api); err != nil {
			return nil, nil, err
		}
		if names[api.Name] {
			return nil, nil, &APIError{api.Name, []Problem{{Field: "name", Text: "is that of another API, too"}}}
		}
		names[api.Name] = true
		for _, name := range api.Secrets() {
			taken[name] = true
		}
	}
	file := struct {
		APIs []*API `json:"apis"`
	}{[]*API{}}
	for _, api := range apis {
		c := cloneAPI(api)
		if c.Endpoints == nil {
			c.Endpoints = []Endpoint{} // null is none
		}
		c.eachText(func(at, value string) string {
			if value == "" || isPlain(api, at) || len(secretsIn(value)) > 0 {
				return value
			}
			name := placeholder(api.Name+"_"+at, taken)
			secrets = append(secrets, name)
			return "${" + name + "}"
		})
		file.APIs = append(file.APIs, c)
	}
	if data, err = canonjson.MarshalLines(file); err != nil {
		return nil, nil, fmt.Errorf("rest: export: %w", err)
	}
	return data, secrets, nil
}

// placeholder returns the name of a secret that no other has.
func placeholder(at string, taken map[string]bool) string {
	base := secretWord(at)
	base = base[:min(len(base), maxSecretName-8)]
	if base[0] >= '0' && base[0] <= '9' {
		base = "_" + base
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	taken[name] = true
	return name
}

func secretWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(text))
}

// isPlain reports whether a text at a place of an API is not secret.
func isPlain(api *API, at string) bool {
	switch at {
	case "baseUrl", "auth.token.url":
		return true
	case "auth.value":
		return api.Auth.Type == FetchToken
	case "auth.user":
		return api.Auth.Password != ""
	case "auth.token.user":
		return api.Auth.Token.Password != ""
	}
	if name, ok := strings.CutPrefix(at, "headers."); ok {
		name = http.CanonicalHeaderKey(name)
		return strings.HasSuffix(name, "-Version") || slices.Contains([]string{"Accept", "Accept-Language", "Cache-Control", "Prefer", "User-Agent"}, name)
	}
	return slices.Contains([]string{"grant_type", "response_type", "scope", "audience", "resource", "client_id"}, strings.TrimPrefix(at, "auth.token.fields."))
}
