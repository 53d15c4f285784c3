package names

// A Scheme says how a registry calls the tools of servers, by the shape of the names. The
// zero Scheme, and one that does not exist, is [ServerTool].
//
// A name has at most 64 of the characters a-z A-Z 0-9 _ and - (and the colon of
// [ColonTool]), as the strictest providers of models allow, and begins with a letter or
// underscore. Where a tool's own name does not fit, or could be taken for another's, the
// name is cleaned or cut and ends in a hash of server and tool:
// "notion__admin_users_list_z2gxn3nwek". So names depend on nothing but server and tool,
// and the same tool has the same name in every process.
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
	// BareTool is the tool's own name, "create_issue". The first tool of a name in
	// the catalogue keeps it, any other one is refused with a DuplicateError.
	BareTool Scheme = "tool"
)

// maxLength is the most bytes that a name has.
const maxLength = 64

// Name returns what a tool of a server is called.
//
// For other schemes than BareTool, no two tools have the same name: plain names show where
// their server ends, and never end like a hash; the hash of all other names has 50 bits of
// the SHA-256 of scheme, server and tool.
func (s Scheme) Name(server, tool string) string {
	plain := s.spell(server, tool)
	cleaned := plain.clean()
	if cleaned == plain && plain.len() <= maxLength && plain.splits() && !plain.endsInHash() {
		return plain.join()
	}
	return cleaned.hashed(hash(plain.scheme, server, tool))
}
