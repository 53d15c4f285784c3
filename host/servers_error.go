package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A ServersError reports servers that are not as they have to be: required ones that
// failed, or those that were not ready when a context ended.
type ServersError struct {
	// Failed says what is wrong, by the names of the servers.
	Failed map[string]error
	// Err is that of the context; nil if none ended.
	Err error
}

// Error names the servers, and says what is wrong with them.
func (e *ServersError) Error() string {
	names := slices.Sorted(maps.Keys(e.Failed))
	var parts []string
	for _, name := range names {
		if e.Err != nil {
			parts = append(parts, fmt.Sprintf("%q", name))
		} else {
			parts = append(parts, e.Failed[name].Error())
		}
	}
	if e.Err != nil {
		return fmt.Sprintf("host: not ready are the servers %s: %v", strings.Join(parts, ", "), e.Err)
	}
	return "host: required: " + strings.Join(parts, "; ")
}

// Unwrap returns Err and the errors of the servers, in the order of their names.
func (e *ServersError) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Failed)) {
		errs = append(errs, e.Failed[name])
	}
	return errs
}

// orNil returns nil if no server is reported.
func (e *ServersError) orNil() error {
	if len(e.Failed) == 0 {
		return nil
	}
	return e
}

// cutOff adds the servers of a report that were not ready when ctx ended.
func (e *ServersError) cutOff(ctx context.Context, r *Report) {
	for name, err := range r.Failed {
		if errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
			e.Err, e.Failed[name] = ctx.Err(), err
		}
	}
}
