package auth

import (
	"errors"
	"net/url"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// requestError returns the error of a request in the terms of this package. The
// request is named as in [OAuthError]. What ended the context is found in it by
// errors.Is.
func (f *Flow) requestError(request string, err error) error {
	var refused *guardhttp.Refusal
	var failed *guardhttp.Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return f.urlError(fieldOf(request), refused)
	case errors.As(err, &failed):
		return &RequestError{Server: f.config.Server, Request: request, Host: failed.Host, NotSent: failed.NotSent, Err: failed.Err}
	}
	return err
}

func (f *Flow) urlError(field string, refused *guardhttp.Refusal) *URLError {
	return &URLError{Server: f.config.Server, Field: field, Origin: refused.Origin, Problem: refused.Problem}
}

// fieldOf returns which address a request goes to.
func fieldOf(request string) string {
	switch request {
	case "token", "refresh", "token exchange":
		return "token_endpoint"
	case "registration":
		return "registration_endpoint"
	case "revocation":
		return "revocation_endpoint"
	case "device authorization":
		return "device_authorization_endpoint"
	}
	return request
}

// problemOf returns what is wrong with an address.
func problemOf(err error) string {
	if refused := (*guardhttp.Refusal)(nil); errors.As(err, &refused) {
		return refused.Problem
	}
	return err.Error()
}

// hostOf returns the host of an address, and nothing of what follows it.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}
