package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// Values of [Server.Transport].
const (
	TransportStdio = "stdio" // a local process, over its standard input and output
	TransportHTTP  = "http"  // streamable HTTP
	TransportSSE   = "sse"   // HTTP with server-sent events, of the 2024 protocol
	TransportAuto  = "auto"  // streamable HTTP or, if the server has none, SSE
	TransportUnix  = "unix"  // a Unix socket of this machine, see transport.Socket
)

// Values of [Server.Identity].
const (
	// identityShared is one connection for all users, with no identity of theirs.
	identityShared = "shared"
	// IdentityUser is a connection for each user, with their own login.
	IdentityUser = "user"
	// IdentityHeader is a connection for each user, with headers that name them.
	IdentityHeader = "header"
)

// Values of [Server.Ledger], those of [ledger.Mode].
const (
	ledgerTrust  = "trust"  // they are used
	ledgerPin    = "pin"    // those of the first list are used, others wait for approval
	ledgerReview = "review" // all wait for approval
)

// A Source is the place of an entry.
type Source struct {
	File   string // as given to [Load] or [Parse]
	Line   int    // of the entry's name, from 1
	Format string // name of the [Format] of the file
	Scope  Scope  // whose file it is
}

// String returns "file:line".
func (s Source) String() string { return s.File + ":" + strconv.Itoa(s.Line) }

// A ToolFilter says which tools of a server are used, and under which names.
// All names are those that the server gives.
type ToolFilter struct {
	Allow  []string          `json:"allow,omitzero"`   // only these; nil means all, empty means none
	Deny   []string          `json:"deny,omitempty"`   // never these; stronger than Allow
	Rename map[string]string `json:"rename,omitempty"` // the server's name to ours
	// SkipOutputCheck lets results pass that do not fit the output schema of their tool.
	SkipOutputCheck bool `json:"skipOutputCheck,omitempty"`
}

// A Server is one entry of a config file, with all references expanded, or one that a program
// made or keeps, see package host/record. The tag of a field is its key in an entry; that of
// Disabled says the opposite.
type Server struct {
	// Name is what the server is called here: 1-64 characters of [A-Za-z0-9_-],
	// first a letter or digit, with no "__" in it, unique in the file. It is the
	// title if that is such a name; else other characters became '_'.
	Name   string
	Title  string `key:"name"` // the name as written in the file; in a server made in Go "" is Name
	Source Source // where the entry stands

	Description string `key:"description"` // in the file's own words

	// Transport is one of the Transport constants, or of [Options.Transports]. It may be "" if Err
	// is set; in an entry made in Go it is then as [Server.Kind] says.
	Transport string `key:"transport"`

	URL     string            `key:"url"`     // of a remote server: absolute, http or https, or unix:///path; may hold secrets
	Headers map[string]Secret `key:"headers"` // sent with each request

	Command string            `key:"command"` // of stdio: as written, see the package comment on folders
	Args    []string          `key:"args"`    // may hold secrets
	Env     map[string]Secret `key:"env"`     // added to what the process has of the environment, see transport.BaseEnv
	Cwd     string            `key:"cwd"`     // absolute, or "" for that of this process

	Disabled    bool `key:"enabled"`     // it is not to run; see also Err
	Builtin     bool `key:"builtin"`     // it belongs to the program: it can be changed, but not removed
	Proposed    bool `key:"proposed"`    // its launch has to be allowed, wherever the entry stands, see [ScopeProposed]
	Required    bool `key:"required"`    // its failure is the failure of the whole
	Lazy        bool `key:"lazy"`        // start on first use
	Trust       bool `key:"trust"`       // what the server says of its tools is believed
	Quarantined bool `key:"quarantined"` // none of its tools is to be called before the server is approved

	// Ledger says what is done about tools that are new or changed, one of the Ledger
	// constants; "" is what the program does.
	Ledger string `key:"ledger"`

	ConnectTimeout time.Duration `key:"connectTimeoutSeconds"` // for start and handshake; 0 means the default of the user of this package
	ReadTimeout    time.Duration `key:"readTimeoutSeconds"`    // for the answer to one request; 0 likewise
	IdleTimeout    time.Duration `key:"idleTimeoutSeconds"`    // a lazy server, or a user's connection, ends when unused for so long; 0 likewise

	// Identity says on whose behalf connections are made, one of the Identity
	// constants; "" is "shared": one connection for all users.
	Identity string `key:"identity"`
	// UserHeader is the header that names the user, of [IdentityHeader]. It may be
	// empty if the program makes the headers.
	UserHeader string `key:"userHeader"`

	Proxy string `key:"proxy"` // goes in the place of the environment's; may hold a password
	TLS   *TLS   `key:"tls"`   // nil: as the machine has it; its files are read when the server starts

	Auth      *Auth      `key:"auth"`      // how to log in; nil: as the server says
	Isolation *Isolation `key:"isolation"` // nil: none
	Limits    Limits     `key:"limits"`    // what it may do
	Tools     ToolFilter `key:"tools"`     // which of its tools are used

	// Extra holds the keys that this package does not use, as plain JSON: those of
	// other programs. It may hold secrets.
	Extra map[string]json.RawMessage

	// Err is why the entry cannot be used, or nil: [errors.Join] of one [*Error]
	// for each fault, in file order, at most 100 and one that says that there are
	// more. A server with an Err must not be started;
	// its other fields hold what could be read.
	Err error

	// Warnings are those of [Config.Warnings] that are about this entry.
	Warnings []*Error

	fingerprint string // see Fingerprint
	// references are those of the entry as written, in the order of their keys, such as
	// "headers.Authorization: ${env:TOKEN}": what of this machine, and of the user's secrets, the
	// server gets to see. The default in ${VAR:-default} is left out.
	references []string
	templates  map[string]string // by key and name, or by value, where that has references: see written
	secrets    []string          // see Secrets
	unanswered *unanswered       // nil if all references have been replaced
}

// Fingerprint returns the SHA-256, in hexadecimal, of what the file says of which
// server this is: transport, command, arguments, cwd and URL as written, with
// references not replaced, and the names of environment variables and headers. It
// is the same on every machine that reads the same entry, and empty for a Server
// that was not read from a file. A secret that is written into an argument or URL
// goes into it, a reference to one does not.
func (s *Server) Fingerprint() string { return s.fingerprint }

// Kind returns the Transport, also where none is written: [TransportAuto] with a URL alone, and
// else [TransportStdio].
func (s *Server) Kind() string {
	switch {
	case s.Transport != "":
		return dialect.Transport(s.Transport)
	case s.URL != "" && s.Command == "":
		return TransportAuto
	}
	return TransportStdio
}

// String returns one line for logs: name, transport, the command's or the
// host's name, and where the entry stands. It has no arguments, paths of URLs,
// or values of environment variables and headers.
func (s Server) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s", s.Name, s.Transport)
	if s.Command != "" {
		fmt.Fprintf(&b, " %q, %d args", filepath.Base(s.Command), len(s.Args))
	}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		fmt.Fprintf(&b, " %s://%s", u.Scheme, u.Host)
	}
	if len(s.Env) > 0 {
		fmt.Fprintf(&b, ", env %s", strings.Join(slices.Sorted(maps.Keys(s.Env)), " "))
	}
	if len(s.Headers) > 0 {
		fmt.Fprintf(&b, ", headers %s", strings.Join(slices.Sorted(maps.Keys(s.Headers)), " "))
	}
	b.WriteString(")")
	if s.Source.File != "" {
		b.WriteString(" at " + s.Source.String())
	}
	return b.String()
}

// Format prints String for every verb.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue implements [slog.LogValuer].
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }
