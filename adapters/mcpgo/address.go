package mcpgo

import (
	"errors"
	"net/url"
	"strings"
)

// A shownError is an error whose text has not all of the server's address: keys stand
// in the path and the query of some.
type shownError struct {
	err  error
	text string
}

func (e *shownError) Error() string { return e.text }

func (e *shownError) Unwrap() error { return e.err }

// withoutAddress returns an error of the client with no more of the server's address in
// its text than scheme, host and port.
func withoutAddress(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) || failed.URL == "" {
		return err
	}
	shown := "its address"
	if u, broken := url.Parse(failed.URL); broken == nil && u.Host != "" {
		shown = u.Scheme + "://" + u.Host
	}
	return &shownError{err, strings.ReplaceAll(err.Error(), failed.URL, shown)}
}
