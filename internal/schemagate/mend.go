package schemagate

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Mending says what may be done to a value to make it fit.
type Mending struct {
	// Defaults adds missing members that have a default, other than null.
	Defaults bool
	// Types takes a string for the JSON value that it spells, where a value of
	// that kind is allowed and no string is. True and False are taken, too.
	Types bool
	// Nulls leaves out members that are null, where null is not allowed and the
	// member is not required.
	Nulls bool
}

// Mend checks a value, and mends it first if that may make it fit. It returns
// the very same value if nothing was to be mended; what it does not mend keeps
// its bytes, its order and its spelling. A value that fits never becomes one that
// does not. It takes a bounded time, for a small value a shorter one than
// Validate does.
//
// If there are problems, the value is returned as it was.
func (s *Schema) Mend(value json.RawMessage, how Mending) (json.RawMessage, []Problem) {
	if err := jsonscan.Valid(value); err != nil {
		return value, []Problem{unreadable(value, err)}
	}
	var tried []json.RawMessage
	var best *report
	for _, try := range how.tries() {
		candidate := s.mended(value, try)
		if tried != nil && contains(tried, candidate) {
			continue
		}
		v := s.judge(candidate, allowance(candidate))
		if v.fits() {
			return candidate, nil
		}
		tried = append(tried, candidate)
		if r := s.report(&v); best == nil || r.total <= best.total {
			best = r
		}
	}
	return value, best.problems()
}

// tries returns the ways to mend a value, in the order in which to try them.
func (m Mending) tries() []Mending {
	tries := make([]Mending, 0, 4)
	if m.Defaults {
		tries = append(tries, Mending{Defaults: true})
	} else {
		tries = append(tries, Mending{})
	}
	if m.Types || m.Nulls {
		tries = append(tries, m, Mending{Types: m.Types, Nulls: m.Nulls})
	}
	return append(tries, Mending{})
}

func contains(all []json.RawMessage, value json.RawMessage) bool {
	for _, other := range all {
		if bytes.Equal(other, value) {
			return true
		}
	}
	return false
}

// maxRounds is how often a value is gone through: what one round mends can decide
// an alternative for the next, or be a string no more, with something to mend
// within.
const maxRounds = 8

// mended returns value as it is after mending, whether or not it fits then. The
// value must be checked JSON.
func (s *Schema) mended(value json.RawMessage, how Mending) json.RawMessage {
	if how == (Mending{}) {
		return value
	}
	p := s.known()
	if how == (Mending{Defaults: true}) && len(p.defaults) == 0 {
		return value
	}
	now := []byte(value)
	for range maxRounds {
		next, ok := p.round(now, how)
		switch {
		case !ok:
			return value
		case next == nil:
			return now
		}
		now = next
	}
	return value
}
