package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// maxCompiled is how many compiled schemas are kept.
const maxCompiled = 256

var errNoResult = errors.New("there is none, and no error either")

// mistakesOf turns what the gate finds into an error.
func mistakesOf(found []schemagate.Problem) *mistakes {
	m := &mistakes{more: len(found) > maxProblems}
	for _, f := range found[:min(len(found), maxProblems)] {
		p := Problem{Path: f.Path, Want: f.Want, Got: f.Got, Hint: f.Note}
		if p.Want == "" {
			p.Hint = knownHint(f.Name, f.Known)
		}
		m.problems = append(m.problems, p)
	}
	return m
}

// knownHint says which names are known, and which of them may be meant.
func knownHint(name string, names []string) string {
	text := "known are " + known(names)
	near := nearest.Names(name, names[:min(len(names), 1_000)], 1)
	for _, one := range names { // of which name may be the plural, or a longer form
		if near == nil && len(one) > 3 && strings.HasPrefix(name, one[:len(one)-1]) {
			near = []string{one}
		}
	}
	if near != nil {
		text = "did you mean " + plain.Quote(near[0]) + "? " + text
	}
	return text
}

func known(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	const most, bytes = 32, 1_000
	var all []string
	size := 0
	for i, name := range names {
		if size += len(name); i == most || i > 0 && size > bytes {
			all = append(all, "and more")
			break
		}
		all = append(all, plain.Quote(name))
	}
	return strings.Join(all, ", ")
}

// maxProblems is how many mistakes one error names: one less than the gate finds,
// so that it is known whether there are more.
const maxProblems = schemagate.MaxProblems - 1

// mistakes is the error of a value that has problems. A nil one has none.
type mistakes struct {
	problems []Problem
	more     bool
}

func (m *mistakes) Error() string {
	var all []string
	for _, p := range m.problems {
		all = append(all, p.String())
	}
	if m.more {
		all = append(all, "and more")
	}
	return strings.Join(all, "; ")
}

func newArgumentsError(tool string, err error) *ArgumentsError {
	e := &ArgumentsError{Tool: tool, Err: err}
	if m, ok := errors.AsType[*mistakes](err); ok {
		e.Problems = m.problems
	}
	return e
}

// givenArgs returns args, and {} for empty or null.
func givenArgs(args json.RawMessage) json.RawMessage {
	if first := firstByte(args); first == 0 && bytes.IndexByte(args, 0) < 0 || first == 'n' && isNull(args) {
		return json.RawMessage("{}")
	}
	return args
}

// objectArgs returns args if they are a JSON object, and {} for empty or null.
func objectArgs(args json.RawMessage) (json.RawMessage, error) {
	args = givenArgs(args)
	first := firstByte(args)
	if !json.Valid(args) {
		err := json.Unmarshal(args, new(json.RawMessage))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("%w (after byte %d)", err, syntax.Offset)
		}
		return nil, fmt.Errorf("must be a JSON object, but are not valid JSON: %w", err)
	}
	if first != '{' {
		return nil, &notObjectError{plain.Article(jsonscan.TypeOf(first))}
	}
	return args, nil
}

func isNull(data json.RawMessage) bool {
	return string(bytes.Trim(data, " \t\r\n")) == "null"
}

// A notObjectError reports arguments that are JSON, but no object.
type notObjectError struct{ got string }

func (e *notObjectError) Error() string { return "must be a JSON object, not " + e.got }
