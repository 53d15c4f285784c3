package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// checkTitle returns the code of what is wrong with a record's name, or "".
func checkTitle(name string) Code {
	isSolid := func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' }
	isOdd := func(r rune) bool { return !isSolid(r) && !strings.ContainsRune("_-. ", r) }
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		return codeNameRequired
	case trimmed != name || len(name) > dialect.MaxTitle || strings.ContainsFunc(name, isOdd) || !strings.ContainsFunc(name, isSolid):
		return codeNameInvalid
	}
	return ""
}

// Validate returns what keeps r from being a server's record: its name, its transport
// and what that needs, and each value that could not be read from a file either. What
// references stand for is not looked at. A secret that is masked is refused: it was shown
// to a user, and is not the secret. The error is of [*Error] values, joined.
func Validate(r *config.Server) error {
	if r == nil {
		return errNoRecord
	}
	r = Of(r)
	return errors.Join(append(faults(r, true), maskFaults(r)...)...)
}

func faults(r *config.Server, name bool) []error {
	var errs []error
	fault := func(code Code, field string) {
		errs = append(errs, &Error{Code: code, Name: r.Title, Field: field})
	}
	if code := checkTitle(r.Title); name && code != "" {
		errs = append(errs, &Error{Code: code, Field: "name"}) // which may be long or odd
	}
	switch r.Kind() {
	case config.TransportStdio:
		if strings.TrimSpace(r.Command) == "" {
			fault(codeCommandRequired, "command")
		}
	case config.TransportHTTP, config.TransportSSE, config.TransportAuto, config.TransportUnix:
		if strings.TrimSpace(r.URL) == "" {
			fault(codeURLRequired, "url")
		}
	default:
		fault(codeTransportUnsupported, "transport")
	}
	if len(errs) > 0 {
		return errs
	}
	return entryFaults(r)
}

// entryFaults reads the record as if it stood in a file.
func entryFaults(r *config.Server) []error {
	entry, err := r.Entry()
	if err != nil {
		return []error{&Error{Code: CodeValueInvalid, Name: r.Title, Err: errors.New("cannot be written as JSON")}}
	}
	data, err := json.Marshal(map[string]map[string]json.RawMessage{"mcpServers": {"record": entry}})
	if err != nil || len(data) > maxRecord {
		return []error{&Error{Code: CodeValueInvalid, Name: r.Title, Err: fmt.Errorf("is not JSON, or has more than %d bytes", maxRecord)}}
	}
	c, err := config.Parse(context.Background(), "record", data, &config.Options{AsWritten: true})
	if err != nil || len(c.Servers) != 1 {
		return []error{&Error{Code: CodeValueInvalid, Name: r.Title, Err: errors.New("is not JSON as an entry needs it: no repeated keys, no invalid UTF-8")}}
	}
	var errs []error
	for _, err := range entryErrors(c.Servers[0].Err) {
		field := strings.TrimPrefix(strings.TrimPrefix(err.Key, "mcpServers.record"), ".")
		errs = append(errs, &Error{Code: CodeValueInvalid, Name: r.Title, Field: field, Err: err.Err})
	}
	return errs
}

// entryErrors returns the errors that [config.Server.Err] joins.
func entryErrors(err error) []*config.Error {
	var all []*config.Error
	var one *config.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			all = append(all, entryErrors(err)...)
		}
	} else if errors.As(err, &one) {
		all = append(all, one)
	}
	return all
}

// maskFaults returns an error for each secret that is masked.
func maskFaults(r *config.Server) []error {
	e := &echo{old: &config.Server{Title: r.Title}, next: r}
	e.restore(func(string) bool { return true })
	return e.errs
}
