package schemagate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Validate checks one JSON value, of any size. The error is a [*Problem], the
// first in the order of the places. It takes a bounded time, in proportion to the
// value, and does not change it.
func (s *Schema) Validate(value json.RawMessage) error {
	if found := s.problems(value, MaxSteps); found != nil {
		return &found[0]
	}
	return nil
}

// A verdict says whether a value fits. The zero verdict says that it does.
type verdict struct {
	syntax error    // the value is no JSON
	unread *Problem // it could not be checked
	value  any
	why    *jsonschema.ValidationError
}

func (v *verdict) fits() bool { return v.syntax == nil && v.unread == nil && v.why == nil }

// allowance returns what checking a value may cost that a model writes, or a tool
// in this program: a small one less than [MaxSteps], for it has no reason to cost
// much, and it can be checked several times.
func allowance(value json.RawMessage) int {
	return min(1<<20+64*len(value), MaxSteps)
}

// judge checks one JSON value in so many steps.
func (s *Schema) judge(value json.RawMessage, steps int) verdict {
	if err := jsonscan.Valid(value); err != nil {
		return verdict{syntax: err}
	}
	return s.judgeChecked(value, steps)
}

// judgeChecked is judge for JSON that can be read in one way only.
func (s *Schema) judgeChecked(value json.RawMessage, steps int) verdict {
	if s.known().simple.fits(value) {
		return verdict{}
	}
	return s.validate(value, steps)
}

// validate has the validator check such JSON.
func (s *Schema) validate(value json.RawMessage, steps int) (v verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = verdict{unread: &Problem{Want: "a value that can be checked", Got: "one that the validator cannot read"}}
		}
	}()
	decoded, excess := read(value, MaxValues, jsonscan.MaxDepth)
	switch excess {
	case tooMany, tooDeep:
		return verdict{unread: &Problem{Want: fmt.Sprintf("at most %d JSON values", MaxValues), Got: "more"}}
	case tooLong:
		return verdict{unread: &Problem{Want: fmt.Sprintf("numbers of at most %d digits", MaxDigits), Got: "a longer one"}}
	}
	if !affordable(s.root, decoded, steps) {
		return verdict{unread: &Problem{Want: "a value that can be checked with reasonable effort", Got: "one that takes too many steps"}}
	}
	err := s.compiled.Validate(decoded)
	if err == nil {
		return verdict{}
	}
	var why *jsonschema.ValidationError
	if !errors.As(err, &why) {
		return verdict{unread: &Problem{Want: "a value that fits", Got: "another"}}
	}
	return verdict{value: decoded, why: why}
}
