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

// of returns what a prompt or a resource of a server is called.
func (n naming) of(server, own string) string {
	return n.Name(server, own)
}

// split returns the server and the prompt of a plain name.
func (n naming) split(name string) (server, prompt string, ok bool) {
	rest, ok := strings.CutPrefix(name, n.prefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, n.separator)
}

// beginning returns what the server of a name that is not plain begins with. Its name
// is whole or cut off there, perhaps with an underscore before it.
func (n naming) beginning(name string) string {
	rest := strings.TrimLeft(strings.TrimPrefix(name, n.prefix), "_")
	part, _, _ := strings.Cut(rest, n.separator)
	return strings.TrimRight(part, "_-")
}

// endsInHash reports whether a name can be one that names.Scheme has made with a
// hash. Any other that is not plain is that of no server.
func (n naming) endsInHash(name string) bool {
	const (
		length = 10
		most   = 64
	)
	at := len(name) - length
	if at < 1 || len(name) > most || name[at-1] != '_' {
		return false
	}
	digit := false
	for _, c := range []byte(name[at:]) {
		switch {
		case '2' <= c && c <= '7':
			digit = true
		case c < 'a' || c > 'z':
			return false
		}
	}
	return digit
}
