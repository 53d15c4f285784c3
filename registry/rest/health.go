package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxHealthAnswer bounds what is read of an answer that is of no interest.
const maxHealthAnswer = 64 << 10

// Health asks the API whether it can be used, with the login. It returns nil if so.
// Nothing is remembered, and nothing asks in the background: a program that asks now and then
// takes the tools of an API that is not healthy out of its registry by [registry.Registry.Replace]
// with none, and puts them back by [Service.Publish].
//
// With a [API].HealthPath that is a GET whose status has to be one of success. Without
// one it is a HEAD of the base URL, where most APIs have nothing: any answer will do
// but one that refuses the login (401, 403 and 407) or reports trouble (500 and more,
// but not 501, which is about HEAD).
//
// The error says which API it is, and its outcome is [mcp.Answered] if the API has answered. Health ends
// with ctx, and after 30 seconds.
func (s *Service) Health(ctx context.Context) error {
	r := &request{method: http.MethodHead, safe: true, maxBytes: maxHealthAnswer}
	if s.api.HealthPath != "" {
		r.method, r.path = http.MethodGet, s.api.HealthPath
	}
	a, err := s.send(ctx, r)
	if err != nil {
		return err
	}
	var problem string
	switch {
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden, a.Status == http.StatusProxyAuthRequired:
		problem = "the login is not accepted; check auth and its secrets"
	case a.Status >= 500 && (a.Status != http.StatusNotImplemented || s.api.HealthPath != ""):
		problem = "the service is in trouble; try again later"
	case s.api.HealthPath == "" || a.Status/100 == 2:
		return nil
	default:
		problem = "the health path does not answer with success; check healthPath"
	}
	return &callError{s.api.Name, "", fmt.Errorf("it is not healthy: HTTP status %d: %s", a.Status, problem), mcp.Answered}
}

// checkHealth checks the path of Health.
func checkHealth(path string, p *problems) {
	at, _, _ := strings.Cut(path, "?")
	switch _, problem := readTarget("healthPath", "https://host"+strings.ReplaceAll(at, "$", "$$")); {
	case path == "":
	case path[0] != '/' || strings.HasPrefix(path, "//"):
		p.add("healthPath", "does not begin with one slash")
	case strings.Contains(path, "#") || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		p.add("healthPath", "has characters that no path and no query has")
	case problem != "":
		p.add("healthPath", problem)
	}
}
