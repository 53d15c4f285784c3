package rest

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
)

// defaultWatch is how often Watch asks if it is not told.
const defaultWatch = time.Minute

// Watch publishes the tools to a registry and takes them out of it while the API is not
// healthy. It asks [Service.Health] at once and then each time that every has passed; 0
// and less mean a minute. A health path makes sure that it asks what matters.
//
// An API whose secrets cannot be had counts as before, at first as healthy: secrets may
// be those of users, whom ctx does not name. While the API is not healthy,
// [Service.Tools] and [Service.Publish] leave its tools out as well; a tool that a
// caller holds can be called all the same.
//
// Watch returns when ctx has ended, with its error, when the service is closed, with an
// error that is [ErrClosed], and when the registry refuses the tools, with the error of
// [Service.Publish]. The registry keeps what it has then, and the service counts as
// healthy.
func (s *Service) Watch(ctx context.Context, r *registry.Registry, every time.Duration) error {
	if r == nil {
		return errNoRegistry
	}
	if every <= 0 {
		every = defaultWatch
	}
	defer s.sick.Store(false)
	timer := time.NewTimer(every)
	defer timer.Stop()
	sick, published := false, false
	for {
		err := s.Health(ctx)
		var secret *SecretError
		was := sick
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrClosed):
			return err
		case !errors.As(err, &secret):
			sick = err != nil
		}
		s.sick.Store(sick)
		if !published || sick != was {
			if _, err := s.Publish(r); err != nil {
				return err
			}
			published = true
		}
		timer.Reset(every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
