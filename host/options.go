package host

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity/event"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	// toolGrace is how long the tools of a server without connection stay in the registry: a
	// model that has seen them calls them in vain once, and not as if they were unknown.
	toolGrace = time.Minute
	// idleTimeout is how long a lazy server, or the client of a user, may be unused before it is
	// ended, if its entry says nothing else.
	idleTimeout = 10 * time.Minute
	// defaultOpenWait is how long Open waits for servers when OpenWait is zero.
	defaultOpenWait = 2 * time.Second
	// defaultMaxUserClients bounds the clients of users when MaxUserClients is zero.
	defaultMaxUserClients = 64

	// NoState as Options.StateDir keeps nothing on disk.
	NoState = statedir.None
)

// Options configure a [Host]. The zero value, and nil, mean the defaults. Where one of
// the functions panics, it has failed for its server, and Client.Logger is told.
type Options struct {
	// Registry receives the servers' tools, and has its own options: names, gate,
	// ledger, approver, forms of results. Of two hosts that share one, a server must not have
	// the name of one of the other's, whose tools it would replace. Default: a new one with none
	// of them set, in which every tool that the gate lets in may be called.
	Registry *registry.Registry
	// Client holds the options of all clients. What a server's config entry
	// says of timeouts and trust goes before. Client.Logger is also the
	// host's logger; the standard error of servers goes there at debug level. In the
	// context of Elicit, ElicitURL and Sample a client of a user names the user, see
	// session.UserOf; users who share a client take turns. If Client.Tracer has a method
	// Registry(*registry.Registry) (stop func()), as that of adapters/otel
	// has, it records the calls of the host's registry too, from New until Close.
	Client mcp.ClientOptions
	// Config holds the options with which Open reads the config file.
	Config *config.Options
	// Follow has Open apply the config file again, as [Host.Follow] does, whenever it has
	// changed and was left alone for a second or two, until the host is closed.
	Follow bool
	// Logins, if set, logs users in at the servers, as the configuration says. It is for one
	// host only, and the host does not close it. Another way to log in belongs to a transport
	// of Transport.
	Logins *login.Logins
	// UserHeaders, if set, makes the headers of a user's connections, for servers of
	// [config.IdentityHeader]. It is asked for each client of a user, and when the server
	// has answered 401, so that it may return tokens that end some time. Each header
	// needs a value. It must end with its context. It is asked only about entries that may
	// be started now, and must not change them. A name of a server is whatever the config
	// says: to send a token, look at the entry's URL.
	UserHeaders func(context.Context, session.Key, *config.Server) (http.Header, error)
	// Transport, if set, makes the transport for a server, and for the user of the
	// key if users have connections of their own there. It is not to wait for anything:
	// what takes time belongs into Connect, which has a context. If it returns nil and no
	// error the host makes it as the entry says. It is asked about all entries that may
	// be started now, those with a type or a URL of Transports of Config among them, and must
	// not change them.
	Transport func(session.Key, *config.Server) (mcp.Transport, error)
	// OpenWait is how long Open waits for servers to be ready or to fail
	// their first attempt. Those that are required are waited for in any case, as long as
	// they may take to connect. Default: 2 s. Negative: until each server has done
	// either.
	OpenWait time.Duration
	// MaxUserClients bounds the clients of users that one server has at a time. A call that
	// needs one more waits until another has no call under way, and the client that was
	// unused longest is closed for it, with its session at the server. Default:
	// 64. Negative: no limit.
	MaxUserClients int
	// StateDir is the folder in which the host keeps, between runs, the catalogues of
	// servers and which ones may be started. Package host/manage keeps there what became of
	// servers, the IDs of records, and those that were removed, with their secrets. Several hosts and
	// processes may share it. Default: mcpbelt in the user's state folder, which is
	// $XDG_STATE_HOME or the system's own, such as ~/.local/state/mcpbelt; it is made
	// when there is something to keep. [NoState]: nothing is written there.
	StateDir string
	// Catalogs has the catalogues of servers in the place of files in StateDir, for programs that share them or have
	// no lasting folder: a record for each entry, whose name begins with "catalog-". One that cannot be read within
	// 2 seconds is not known, and the host does not wait for writes, but 2 seconds when it is closed. Those who can
	// write the store can change which tools are listed; the ledger decides what may be called. Default: files.
	Catalogs storage.Store
	// Consents says which servers of files that others may have written may be started.
	// Default: a file in StateDir.
	Consents *consent.Book
	// Isolators confine local servers, by the kind that an entry asks for, such as
	// {"docker": &docker.Isolator{}}. Default: none, so that such servers are not started.
	Isolators map[string]Isolator
	// Activity is told of calls, refusals, logins and changes. Default: nothing is recorded.
	// The host does not close it. Record does not wait. An *activity.Log is one.
	Activity interface {
		Record(ctx context.Context, e event.Event)
	}

	toolGrace, idleTimeout time.Duration // set by tests alone
}

// need panics if there is no context: on a goroutine of the host that could not be
// recovered.
func need(ctx context.Context) {
	if ctx == nil {
		panic("host: the context is nil")
	}
}

// An Isolator confines the process of a local server.
type Isolator interface {
	// Isolate returns how the server is started confined as the entry says. It is
	// asked anew for each start, and does not change c. If it cannot confine it, it
	// fails: a server that is to be confined is never started otherwise. It returns
	// soon after ctx ends, which bounds the start only. The host makes its errors an
	// [*IsolationError].
	Isolate(ctx context.Context, e *config.Server, c *transport.Command) (*transport.Command, error)
}
