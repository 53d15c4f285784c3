package rest

import (
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An APIError reports an [API] that cannot be used as it is described. It names all
// that is wrong, up to a limit, and no secret.
//
//cure:correct all that it names in the description
type APIError struct {
	// api is the name of the API; empty if it has none.
	api string
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
	text := "rest: "
	if e.api != "" {
		text += "API " + plain.Quote(e.api) + ": "
	}
	for i, p := range e.Problems {
		if i > 0 {
			text += "; "
		}
		if i == most {
			return text + "and " + strconv.Itoa(len(e.Problems)-most) + " more"
		}
		text += p.String()
	}
	return text
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

// A callError reports a request that was not sent, or got no answer that can be used. It shows
// no secret, nothing of the address but the host, and nothing of the answer but its status.
// [mcp.OutcomeOf] tells whether the API can have received the request.
type callError struct {
	// api is the name of the API.
	api string
	// endpoint is the name of the endpoint; empty if the request is not one of an
	// endpoint.
	endpoint string
	// err says what is wrong: the error of the context, if that has ended, [ErrNotSet] for a
	// secret that is missing, [ErrClosed], or an [*approval.DeniedError] of a tool that is
	// switched off.
	err error

	outcome mcp.Outcome
}

func (e *callError) Error() string {
	text := "rest: API " + plain.Quote(e.api) + ": "
	if e.endpoint != "" {
		text += "endpoint " + plain.Quote(e.endpoint) + ": "
	}
	return text + e.err.Error()
}

// Unwrap returns the cause.
func (e *callError) Unwrap() error { return e.err }

// Outcome returns [mcp.NotSent], [mcp.Unknown] or, from [Service.Health], [mcp.Answered].
func (e *callError) Outcome() mcp.Outcome { return e.outcome }
