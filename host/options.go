package host

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// DefaultToolGrace is how long the tools of a lost server stay in the registry
// when ToolGrace is zero.
const DefaultToolGrace = time.Minute

// Options configure a [Host]. The zero value, and nil, mean the defaults.
type Options struct {
	// Registry receives the servers' tools, and has its own options: names, gate,
	// ledger, approver, forms of results. Default: a new one with none of them set,
	// in which every tool that the gate lets in may be called.
	Registry *registry.Registry
	// Client holds the options of all clients. What a server's config entry
	// says of timeouts and trust goes before. Client.Logger is also the
	// host's logger; the standard error of servers goes there at debug level.
	Client mcp.ClientOptions
	// Config holds the options with which Open reads the config file.
	Config *config.Options
	// OAuth, if set, returns what logs in at the named server, or nil for a
	// server without login. The Handler of a session.Manager does, and is
	// harmless for servers that want none.
	OAuth func(server string) auth.OAuthHandler
	// Transport, if set, makes the transport for a server. If it returns nil
	// and no error the host makes it as the entry says.
	Transport func(*config.Server) (mcp.Transport, error)
	// ToolGrace is how long the tools of a server without connection stay in
	// the registry. Default: 1 minute. Negative: not at all.
	ToolGrace time.Duration
}
