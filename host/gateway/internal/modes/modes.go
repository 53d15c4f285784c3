package modes

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/lru"
)

// The modes.
const (
	Auto   = "auto"   // as suits the client
	Direct = "direct" // all tools are listed
	Search = "search" // those by which others are found and called are
	Code   = "code"   // code_execution is
)

// An Error is a request for a mode that there is not.
type Error struct {
	Mode   string // that was asked for; code, if the program has nothing to run code with
	Status int    // of the answer to an HTTP request: 404 for a path, else 400
}

// Error names the modes that there are.
func (e *Error) Error() string {
	if e.Mode == Code {
		return "the mode code is off, since the program has no Options.Code: there are auto, direct and search"
	}
	return fmt.Sprintf("there is no mode %.50q: there are auto, direct, search and code", e.Mode)
}

// Check returns what is wrong with a mode: an [*Error], or nil. The empty one says nothing. Code says whether there is that
// mode.
func Check(mode string, code bool) error { return check(mode, code, http.StatusBadRequest) }

func check(mode string, code bool, status int) error {
	if !slices.Contains([]string{"", Auto, Direct, Search, Code}, mode) || mode == Code && !code {
		return &Error{mode, status}
	}
	return nil
}

// Split takes the mode out of a path below a view, which begins with /mcp, and out of a query. The path comes before the
// query. Asked is empty if neither says any. The error is an [*Error].
func Split(path, query string, code bool) (rest, asked string, err error) {
	if mode, ok := strings.CutPrefix(path, "/mcp/"); ok {
		asked = strings.TrimSuffix(mode, "/")
		if err := check(asked, code, http.StatusNotFound); err != nil {
			return path, "", err
		}
		path = "/mcp"
	}
	if strings.Contains(query, "mode=") {
		values, err := url.ParseQuery(query)
		mode := values.Get("mode")
		if err := errors.Join(err, Check(mode, code)); err != nil {
			return path, "", &Error{mode, http.StatusBadRequest}
		}
		asked = cmp.Or(asked, mode)
	}
	return path, asked, nil
}

// maxChoices bounds the choices that are kept. The one that was not used for the longest time is forgotten then.
const maxChoices = 4096

// Choices are the modes that were chosen for clients by what there was to be listed. A choice stays: a client
// that has read a list would not know the tools of another. The zero Choices are none. They
// are safe for concurrent use.
type Choices[K comparable] struct {
	mu   sync.Mutex // guards the following
	made lru.Map[K, string]
}

// Of returns the mode of a client, which choose chooses the first time.
func (c *Choices[K]) Of(client K, choose func() string) string {
	c.mu.Lock()
	mode, ok := c.made.Get(client)
	c.mu.Unlock()
	if ok {
		return mode
	}
	mode = choose()
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.made.Get(client); ok {
		return made // of another request of the client, which came first
	}
	c.made.Put(client, mode)
	for oldest := range c.made.Oldest() {
		if c.made.Len() <= maxChoices {
			break
		}
		c.made.Delete(oldest)
	}
	return mode
}
