package modes

import (
	"errors"
	"fmt"
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

// Check says what is wrong with a mode, and which modes there are. Nothing is with the empty one, which says nothing. Code says
// whether there is that mode.
func Check(mode string, code bool) error {
	switch {
	case mode == Code && !code:
		return errors.New("the mode code is off, since the program has no Options.Code: there are auto, direct and search")
	case !slices.Contains([]string{"", Auto, Direct, Search, Code}, mode):
		return fmt.Errorf("there is no mode %.50q: there are auto, direct, search and code", mode)
	}
	return nil
}

// Split takes the mode out of a path below a view. Asked is empty if it says none.
func Split(path string) (rest, asked string) {
	mode, ok := strings.CutPrefix(path, "/mcp/")
	if !ok {
		return path, ""
	}
	return "/mcp", strings.TrimSuffix(mode, "/")
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
