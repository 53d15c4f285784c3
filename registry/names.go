package registry

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
	// BareTool is the tool's own name, "create_issue". Where two tools of the
	// catalogue would have it, those of servers are called as by ServerTool.
	BareTool Scheme = "tool"
)

// DefaultMaxName is the default of [Names].MaxLength, and what the strictest
// providers of models allow.
const DefaultMaxName = 64

// Names says how a registry calls the tools of servers. The zero value is the
// scheme [ServerTool] with names of at most 64 bytes.
//
// A name is made of the characters a-z A-Z 0-9 _ and - (and the colon of
// [ColonTool]), and begins with a letter or underscore. Where a tool's own name
// does not fit, or could be taken for another's, the name is cleaned or cut and
// ends in a hash of server and tool. So names depend on nothing but server and
// tool, but for BareTool and Custom, where they depend on the other tools of the
// catalogue too, though never on the order in which they came.
type Names struct {
	// Scheme is the shape of the names. Default: [ServerTool].
	Scheme Scheme
	// MaxLength is the most bytes that a name has, at least 32, at most 256.
	// Default: [DefaultMaxName].
	MaxLength int
	// Custom, if set, makes the names instead of Scheme. What it returns is
	// cleaned, cut and told apart like any name. It must be a pure function,
	// safe for concurrent use.
	Custom func(server, tool string) string
	// Exact turns off the forgiveness of [Registry.Call] for names that models
	// write in another way.
	Exact bool
}

// A NameReason says why a name is not simply that of its scheme. Empty: it is.
type NameReason string

// The reasons.
const (
	// NameCleaned: it had characters that are not allowed.
	NameCleaned NameReason = "cleaned"
	// NameCut: it was too long.
	NameCut NameReason = "cut"
	// NameAmbiguous: another server and tool could have the same name.
	NameAmbiguous NameReason = "ambiguous"
)

// Name returns what a tool of a server is called as long as no other tool of the
// catalogue would be called the same, and why that is not the plain name.
func (n Names) Name(server, tool string) (name string, why NameReason) {
	return server + "__" + tool, ""
}

// A candidate is a tool that wants a name.
type candidate struct {
	server, tool string // which tool; the tool by its alias if it has one
	explicit     string // the name that it has been given by hand; empty: none
}

// dependent reports whether the name of a tool depends on the other tools.
func (n Names) dependent() bool { return n.Custom != nil || n.Scheme == BareTool }

// assign returns a name for each candidate, by index. It depends on the set of
// candidates and not on their order. Two names are equal only if two candidates
// are the same tool, or were given the same name by hand.
func (n Names) assign(candidates []candidate) []string {
	names := make([]string, len(candidates))
	for i, c := range candidates {
		if names[i] = c.explicit; c.explicit == "" {
			names[i], _ = n.Name(c.server, c.tool)
		}
	}
	return names
}

// DisplayName returns what the tool is called before people: "github:create_issue
// (MCP)" for a server's, the title or else the name for a native one.
func (d *Definition) DisplayName() string {
	if d.Origin.Server != "" {
		return d.Origin.Server + ":" + d.Origin.Tool + " (MCP)"
	}
	if d.Title != "" {
		return d.Title
	}
	return d.Name
}
