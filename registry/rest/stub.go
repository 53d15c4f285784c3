package rest

import (
	"context"
	"errors"
)

// prepare checks the base URL, the headers and the login, and makes what send needs.
func (s *Service) prepare() []Problem { return nil }

// send sends a request with the login, once more after a 401 if a new token can be
// had, and returns the whole answer.
func (s *Service) send(_ context.Context, _ *request) (*answer, error) {
	return nil, errors.ErrUnsupported
}
