package rest

import (
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An APIError reports an [API] that cannot be used as it is described. It names all
// that is wrong, up to a limit, and no secret.
type APIError struct {
	// API is the name of the API; empty if it has none.
	API string
	// Problems are what is wrong, in the order of the description, the first 100.
	Problems []Problem
}

// A Problem is one thing wrong in the description of an API.
type Problem struct {
	// Endpoint is the name of the endpoint it is in; empty for the API itself.
	Endpoint string
	// Field is the place, as in the JSON form of the API or of that endpoint, such as
	// auth.value or params[2].schema.
	Field string
	// Text says what is wrong there, and how to put it right.
	Text string
}

// String returns the problem on one line.
func (p Problem) String() string {
	text := p.Field + " " + p.Text
	if p.Endpoint != "" {
		text = "endpoint " + plain.Quote(p.Endpoint) + ": " + text
	}
	return text
}

func (e *APIError) Error() string {
	const most = 20
	var text strings.Builder
	text.WriteString("rest: ")
	if e.API != "" {
		text.WriteString("API " + plain.Quote(e.API) + ": ")
	}
	for i, p := range e.Problems {
		if i > 0 {
			text.WriteString("; ")
		}
		if i == most {
			text.WriteString("and " + strconv.Itoa(len(e.Problems)-most) + " more")
			break
		}
		text.WriteString(p.String())
	}
	return text.String()
}

// maxProblems is how many problems an [APIError] holds.
const maxProblems = 100

// problems collects what is wrong with an API.
type problems struct {
	endpoint string // that is being looked at
	list     []Problem
}

func (p *problems) add(field, text string) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, Problem{p.endpoint, field, text})
	}
}
