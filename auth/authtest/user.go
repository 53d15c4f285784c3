package authtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

const (
	decisionHeader = "Authtest-Decision"
	userHeader     = "Authtest-User"
	clientHeader   = "Authtest-Client"
	scopeHeader    = "Authtest-Scope"
	approved       = "approve"
	denied         = "deny"
	defaultUser    = "user"
)

// Approve visits an authorization address as the browser of a user who agrees,
// whose name is "user". It returns where the browser is sent back to, and does
// not go there. If it is not sent back the error has the server's reason.
func (s *Server) Approve(ctx context.Context, authorizationURL string) (callback string, err error) {
	return s.visit(ctx, authorizationURL, approved, defaultUser)
}

// ApproveAs is [Server.Approve] for a user with another name.
func (s *Server) ApproveAs(ctx context.Context, user, authorizationURL string) (callback string, err error) {
	return s.visit(ctx, authorizationURL, approved, user)
}

// Deny is [Server.Approve] for a user who does not agree.
func (s *Server) Deny(ctx context.Context, authorizationURL string) (callback string, err error) {
	return s.visit(ctx, authorizationURL, denied, defaultUser)
}

func (s *Server) visit(ctx context.Context, address, decision, user string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set(decisionHeader, decision)
	r.Header.Set(userHeader, user)
	browser := *s.Client()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := browser.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	callback := response.Header.Get("Location")
	if callback == "" {
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return "", fmt.Errorf("authtest: the browser is not sent back: status %s: %s", response.Status, reason)
	}
	return callback, nil
}
