package transport

import (
	"fmt"
	"net/http"
)

// The functions and handlers of recipes run on goroutines of the connection, too.
// Where one panics it has failed.

// caught turns a panic into an error.
func caught(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v", what, v)
	}
}

// forgiven returns a function that reports lines to f, and drops what f panics with;
// nil if f is.
func forgiven(f func(line string)) func(line string) {
	if f == nil {
		return nil
	}
	return func(line string) {
		defer caught("", new(error))
		f(line)
	}
}

// roundTrip sends one request.
func (e *endpoint) roundTrip(req *http.Request) (resp *http.Response, err error) {
	defer caught("RoundTripper", &err)
	return e.rt.RoundTrip(req)
}
