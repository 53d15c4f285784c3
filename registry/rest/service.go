package rest

import (
	"context"

	"github.com/mcpbelt/mcpbelt/registry"
)

// Options are the options of a [Service]. Nil and the zero value mean the defaults.
type Options struct {
	// Secrets gives the secret that ${NAME} stands for. It is called when a request
	// is made, and its context is that of the call: the user is in it. Nil: the
	// environment of the program.
	Secrets func(ctx context.Context, name string) (string, error)
}

// A Service is an [API] in use. Make one with [New]. All methods are safe for
// concurrent use.
type Service struct {
	api  *API
	opts Options
}

// New makes a Service of an API, of which it keeps a copy. Nothing is sent and no
// secret is asked for. The error is an [*APIError].
func New(api *API, opts *Options) (*Service, error) {
	s := &Service{api: api}
	if opts != nil {
		s.opts = *opts
	}
	if found := s.prepare(); len(found) > 0 {
		return nil, &APIError{API: api.Name, Problems: found}
	}
	return s, nil
}

// Tools returns the tools that are enabled, in the order of the endpoints.
func (s *Service) Tools() []registry.Tool { return nil }
