package mcp

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxListProblems is how many problems of one list are kept.
const maxListProblems = 100

// A ListProblem is an element of a server's list that was left out because it cannot be
// read. The others of the list are not affected.
type ListProblem struct {
	// Method is the request of the list: tools/list, resources/list,
	// resources/templates/list or prompts/list.
	Method string
	// Path is the place on its page of the list, such as tools[3].
	Path string
	// Name is the name of the element, cut off if it is long and safe to print; empty
	// if it cannot be read either.
	Name string
	// Token names the kind of the problem. Tokens are stable: too_deep (nested deeper
	// than 128 levels), duplicate_key, invalid_utf8, or invalid for all else, such as
	// a missing name.
	Token string
	// Err says what is wrong.
	Err error
}

// ListProblems returns the elements that were left out of the server's lists when each was
// last read to its end, at most 100 of each, in the order of the lists' methods. A list
// that was not read yet has none.
func (c *Client) ListProblems() []ListProblem {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []ListProblem
	for _, problems := range c.problems {
		all = append(all, problems...)
	}
	slices.SortStableFunc(all, func(a, b ListProblem) int { return cmp.Compare(a.Method, b.Method) })
	return all
}

// keepProblems notes the problems of a list that was read to its end.
func (c *Client) keepProblems(method string, problems []ListProblem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problems == nil {
		c.problems = make(map[string][]ListProblem)
	}
	c.problems[method] = problems
}

// problemOf returns the problem of an element that has been left out because of err.
func (p *pager[T]) problemOf(raw []byte, path string, err error) ListProblem {
	token := "invalid"
	var syntax *jsonscan.SyntaxError
	if errors.As(err, &syntax) {
		switch syntax.Reason {
		case jsonscan.TooDeep:
			token = "too_deep"
		case jsonscan.DuplicateKey:
			token = "duplicate_key"
		case jsonscan.InvalidUTF8:
			token = "invalid_utf8"
		}
	}
	return ListProblem{p.list.method, path, nameOf(raw), token, err}
}
