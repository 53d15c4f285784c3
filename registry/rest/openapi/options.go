package openapi

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/glob"
)

// The defaults of [Options].
const (
	defaultMaxBytes     = 16 << 20
	defaultMaxEndpoints = 1_000
)

// Options are the options of [Parse]. Nil and the zero value mean the defaults.
type Options struct {
	// Name is the name of the API: 1 to 128 of the characters A-Z a-z 0-9 _ - and the
	// dot. The names of its secrets are made of it: for petstore they begin with
	// REST_PETSTORE___. Empty: made of the document's title, and the names of the
	// secrets of the server's host.
	Name string
	// BaseURL is where the service is. Empty: as the document's servers say. If they
	// are relative, it has to be given. ${NAME} in it is a secret, see rest.API.
	BaseURL string
	// Server is which of the document's servers is used, from 0. It does not count
	// if BaseURL is given.
	Server int
	// Variables are values of the variables in the server's URL, in place of their
	// defaults.
	Variables map[string]string
	// Security names the security schemes, by their names in the document, that the
	// API logs in with. Nil: those that suit the most operations. Empty, but not nil:
	// no login.
	Security []string
	// Include selects operations: those that fit one of the filters. Empty: all.
	Include []Filter
	// Exclude leaves operations out that fit one of the filters.
	Exclude []Filter
	// MaxEndpoints is how many operations are taken over at most, in the order of the
	// document. Default: 1,000.
	MaxEndpoints int
	// MaxBytes is how long a document may be. Default: 16 MiB. YAML is
	// bounded by the number of its values as well, at about half a million.
	MaxBytes int
}

// A Filter selects operations. An operation fits if it fits all members that are not
// empty; a filter without any fits all. Each is a pattern for the whole text, with *
// for any characters and ? for one.
type Filter struct {
	// Tag is for one of the operation's tags.
	Tag string
	// OperationID is for the operationId as the document has it.
	OperationID string
	// Method is for the HTTP method, in capital letters.
	Method string
	// Path is for the path, such as /pets/* or, word for word, /pets/{id}.
	Path string
}

// An OptionError reports an option that cannot be used.
type OptionError struct {
	// Option names the option, such as Include[0].Path.
	Option string
	// Reason says what is wrong.
	Reason string
}

func (e *OptionError) Error() string { return "openapi: option " + e.Option + ": " + e.Reason }

// A filter is a Filter with its patterns compiled.
type filter struct{ tag, id, method, path pattern }

// A pattern fits its own text, and what it fits as a pattern. The zero value fits all.
type pattern struct {
	text     string
	compiled *glob.Pattern
}

func (p pattern) fits(text string) bool {
	return p.text == "" || p.text == text || p.compiled != nil && p.compiled.Match(text)
}

func compileFilters(option string, list []Filter) ([]filter, error) {
	var out []filter
	for i, f := range list {
		var c filter
		for _, m := range []struct {
			name, text string
			to         *pattern
		}{{"Tag", f.Tag, &c.tag}, {"OperationID", f.OperationID, &c.id}, {"Method", f.Method, &c.method}, {"Path", f.Path, &c.path}} {
			m.to.text = m.text
			if m.text == "" {
				continue
			}
			compiled, err := glob.Compile(m.text)
			if err != nil {
				// A path word for word need not be a pattern.
				if m.name == "Path" {
					continue
				}
				return nil, &OptionError{fmt.Sprintf("%s[%d].%s", option, i, m.name), err.Error()}
			}
			m.to.compiled = compiled
		}
		out = append(out, c)
	}
	return out, nil
}

func (f filter) fits(op *operation) bool {
	if !f.id.fits(op.id) || !f.method.fits(op.method) || !f.path.fits(op.path) {
		return false
	}
	if f.tag.text == "" {
		return true
	}
	for i, t := range op.at.get("tags").each() {
		if i == maxTags {
			break
		}
		if f.tag.fits(t.text()) {
			return true
		}
	}
	return false
}

func anyFits(list []filter, op *operation) bool {
	for _, f := range list {
		if f.fits(op) {
			return true
		}
	}
	return false
}
