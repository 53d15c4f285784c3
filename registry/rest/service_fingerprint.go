package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// fingerprint identifies where the requests of the service lead, and what they carry
// where. A registry compares it with the one that was approved: a tool that looks as
// it did, but does something else, is another one.
func (s *Service) fingerprint() string {
	type sent struct {
		Name, Argument, Style string
		In                    Place
		Explode               bool
	}
	type called struct {
		Name, Method, Path string
		Params             []sent
		Content, Whole     string
		Template           json.RawMessage
	}
	var about struct {
		BaseURL   string
		AuthType  AuthType
		AuthIn    Place
		AuthName  string
		TokenURL  string
		Headers   []string
		Secrets   map[string][]string // their names, by the place that they go to
		Endpoints []called
	}
	about.BaseURL = s.api.BaseURL
	about.AuthType, about.AuthIn, about.AuthName = s.api.Auth.Type, s.api.Auth.In, s.api.Auth.Name
	if s.api.Auth.Token != nil {
		about.TokenURL = s.api.Auth.Token.URL
	}
	about.Secrets = map[string][]string{}
	for at, raw := range s.api.secretTexts() {
		if names := secretsIn(raw); names != nil {
			about.Secrets[at] = names
		}
	}
	for name := range maps.Keys(s.api.Headers) {
		about.Headers = append(about.Headers, strings.ToLower(name))
	}
	slices.Sort(about.Headers)
	for _, o := range s.ops {
		c := called{Name: o.name, Method: o.method, Path: o.path, Content: o.body.contentType, Whole: o.body.whole}
		if o.endpoint.Body != nil {
			c.Template = o.endpoint.Body.Template
		}
		for _, p := range o.params {
			c.Params = append(c.Params, sent{p.Name, p.Argument, p.style, p.In, p.explode})
		}
		about.Endpoints = append(about.Endpoints, c)
	}
	data, err := json.Marshal(about)
	if err != nil { // what was checked can be written
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
