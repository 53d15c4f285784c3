package openapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// maxProblems is how many problems are told.
const maxProblems = 1_000

// A Problem is something that could not be taken over, or not as it stands there. Its
// texts are safe at a terminal.
type Problem struct {
	// Operation is the operation that it concerns, as in "GET /pets/{id}". Empty:
	// the whole document, or a schema that several operations use.
	Operation string
	// Place is where in the document it is, as a JSON pointer (RFC 6901). Empty: the
	// whole.
	Place string
	// Lost is what was left out: an "operation", a "parameter" (or a body that is not
	// required, or a member of it), or a "keyword" of a schema or of another object. Empty:
	// nothing; something is to be known or done.
	Lost string
	// Reason says why, and what to do about it.
	Reason string
}

// String returns the problem on one line.
func (p Problem) String() string {
	text := p.Reason
	if p.Lost != "" {
		text = p.Lost + " left out: " + text
	}
	if p.Place != "" {
		text = "#" + p.Place + ": " + text
	}
	if p.Operation != "" {
		text = p.Operation + ": " + text
	}
	return text
}

// A documentError reports a text that is no OpenAPI document, or too large.
type documentError struct {
	// line and column are where, from 1; 0 if that is not known. column counts bytes.
	line, column int
	// reason says what is wrong.
	reason string
	// err is the error of the YAML or JSON parser, if there is one.
	err error
}

func (e *documentError) Error() string {
	if e.line == 0 {
		return "openapi: the document " + e.reason
	}
	return fmt.Sprintf("openapi: the document, line %d, column %d: %s", e.line, e.column, e.reason)
}

func (e *documentError) Unwrap() error { return e.err }

func optionError(option, reason string) error {
	return fmt.Errorf("openapi: option %s: %s", option, reason)
}

// problems collects problems up to a limit.
type problems struct {
	list []Problem
	more int
}

func (p *problems) add(one Problem) {
	if len(p.list) == maxProblems {
		p.more++
	} else {
		p.list = append(p.list, one)
	}
}

// tell adds what is to be said of an operation, or of the document if that is nil.
func (p *problems) tell(op *operation, at *node, what string, reason string) {
	p.add(newProblem(op, at, what, reason))
}

func newProblem(op *operation, at *node, what string, reason string) Problem {
	one := Problem{Place: strings.ReplaceAll(plain.Text(plain.Cut(at.pointer(), 300)), "\n", "<U+000A>"), Lost: what, Reason: reason}
	if op != nil {
		one.Operation = op.String()
	}
	return one
}

// all returns the problems, and that there are more.
func (p *problems) all() []Problem {
	if p.more > 0 {
		return append(p.list, Problem{Reason: "there are " + strconv.Itoa(p.more) + " problems more"})
	}
	return p.list
}
