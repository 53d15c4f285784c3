package names

// A Scheme says how the tools of servers are called, by the shape of the names.
type Scheme string

// The schemes.
const (
	// ServerTool is the default: "github__create_issue".
	ServerTool Scheme = "server__tool"
	// MCPServerTool is what several terminal agents use: "mcp__github__create_issue".
	MCPServerTool Scheme = "mcp__server__tool"
	// ColonTool has a colon, which some providers of models refuse:
	// "github:create_issue".
	ColonTool Scheme = "server:tool"
	// UnderscoreTool is "github_create_issue".
	UnderscoreTool Scheme = "server_tool"
	// BareTool is the tool's own name, "create_issue". The first tool of a name in
	// the catalogue keeps it, any other one is refused with a DuplicateError.
	BareTool Scheme = "tool"
)

// defaultMaxName is the default of [Names].MaxLength, and what the strictest
// providers of models allow.
const defaultMaxName = 64

// longest is the most bytes of any name: what the protocol allows a tool, and as much
// again for the name of its server.
const longest = 256

// minMaxName is the least that [Names].MaxLength can be: room for the hash, and
// for something to read before it.
const minMaxName = 32

// Names says how a registry calls the tools of servers. The zero value is the
// scheme [ServerTool] with names of at most 64 bytes.
//
// A name is made of the characters a-z A-Z 0-9 _ and - (and the colon of
// [ColonTool]), and begins with a letter or underscore. Where a tool's own name
// does not fit, or could be taken for another's, the name is cleaned or cut and
// ends in a hash of server and tool: "notion__admin_users_list_z2gxn3nwek". So names
// depend on nothing but server and tool, and the same tool has the same name in every
// process.
//
// Names is safe for concurrent use.
type Names struct {
	// Scheme is the shape of the names. Default: [ServerTool], which also stands
	// for a scheme that does not exist.
	Scheme Scheme
	// MaxLength is the most bytes that a name has. Less than 32 counts as 32, more
	// than 256 as 256. Default: 64.
	MaxLength int
	// Custom, if set, makes the names instead of Scheme. Its result is cleaned and cut
	// like any name; for a tool for which it returns nothing, the name is that of
	// [ServerTool]. A name that is taken is refused, as by BareTool. It must be a pure
	// function, safe for concurrent use.
	Custom func(server, tool string) string
	// Exact turns off the forgiveness of Registry.Call for names that models
	// write in another way: in other case or with other separators, as another
	// scheme has them, or without the server. A name is forgiven only if exactly
	// one tool has the same words, so "delete" never means "delete_all".
	Exact bool
}

// A Reason says why a name is not simply that of its scheme. Empty: it is.
// Where there are several reasons, it is the first of those listed here.
type Reason string

// The reasons.
const (
	// Cut: it was too long.
	Cut Reason = "cut"
	// Cleaned: it had characters that are not allowed or not allowed at the
	// beginning, or a part of it was empty.
	Cleaned Reason = "cleaned"
	// Ambiguous: another server and tool could have the same name, because it
	// does not show where the server ends, or because it ends like a hash.
	Ambiguous Reason = "ambiguous"
)

// Name returns what a tool of a server is called, and why that is not the plain name.
//
// For other schemes than BareTool and Custom, no two tools have the same name:
// plain names show where their server ends, and never end like a hash; the hash
// of all other names has 50 bits of the SHA-256 of scheme, server and tool.
func (n Names) Name(server, tool string) (name string, why Reason) {
	s := n.spell(server, tool)
	limit := n.limit()
	cleaned := s.clean()
	if why = s.fault(cleaned, limit); why == "" {
		return s.join(), ""
	}
	return cleaned.hashed(limit, hash(s.scheme, server, tool)), why
}

// limit is MaxLength as it holds.
func (n Names) limit() int {
	if n.MaxLength == 0 {
		return defaultMaxName
	}
	return min(max(n.MaxLength, minMaxName), longest)
}
