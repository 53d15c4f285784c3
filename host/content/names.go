package content

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/registry/names"
)

// A naming says how prompts and resources are called.
type naming struct {
	names.Scheme
	prefix, separator string // of plain names
}

// naming returns the names that the registry has for tools, as far as they depend
// on nothing but the server and the tool: not all servers may be there to be asked.
func (c *Content) naming() naming {
	n := c.host.Registry().Names()
	switch n {
	case names.MCPServerTool:
		return naming{n, "mcp__", "__"}
	case names.ColonTool:
		return naming{n, "", ":"}
	}
	return naming{names.ServerTool, "", "__"}
}

// split returns the server and the prompt of a plain name.
func (n naming) split(name string) (server, prompt string, ok bool) {
	rest, ok := strings.CutPrefix(name, n.prefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, n.separator)
}
