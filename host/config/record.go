package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Record is the entry of one server as written: references are not replaced. It is
// what programs that manage servers list, change and keep, see [Store].
//
// Whoever prints a Record, or encodes it as JSON, gets its secrets masked; [Record.Encode]
// is the one way to have them in clear. A Record is changed by [Record.Apply], which
// makes another one: those that come from a Store may be shared.
type Record struct {
	// Name is the server's name: 1-128 of letters, digits, '_', '-', '.' and blanks
	// inside, at least one of them a letter or digit. It is the Title of the [Server].
	Name        string
	Description string // free text

	// Transport is one of the Transport constants. Empty means [TransportStdio] with
	// a command and [TransportAuto] with a URL.
	Transport string
	URL       string            // http or https; of a remote server
	Headers   map[string]Secret // sent with each request to it
	Proxy     string            // see [Server.Proxy]
	TLS       *TLS              // see [Server.TLS]
	Command   string            // the program of a local server
	Args      []string          // its arguments; may hold secrets
	Env       map[string]Secret // added to its environment
	Cwd       string            // its working directory

	Disabled bool // it is not to run
	Builtin  bool // it belongs to the program and cannot be removed; no [Patch] changes this
	Required bool // see [Server.Required]
	Lazy     bool // see [Server.Lazy]
	Trust    bool // see [Server.Trust]

	Quarantined bool   // see [Server.Quarantined]
	Ledger      string // see [Server.Ledger]

	ConnectTimeout time.Duration // for start and handshake; 0 means the default
	ReadTimeout    time.Duration // for the answer to one request; 0 likewise
	IdleTimeout    time.Duration // see [Server.IdleTimeout]; 0 likewise

	Identity   string     // see [Server.Identity]
	UserHeader string     // see [Server.UserHeader]
	Auth       *Auth      // how to log in; nil: as the server says
	Isolation  *Isolation // nil: none
	Limits     Limits     // what the server may do at most
	Tools      ToolFilter // which of its tools are used

	// Extra holds the keys of other programs, as JSON. No [Patch] changes them.
	Extra map[string]json.RawMessage
}

// kind returns the transport, also where none is written.
func (r *Record) kind() string {
	switch {
	case r.Transport != "":
		return canonicalTransport(r.Transport)
	case r.URL != "" && r.Command == "":
		return TransportAuto
	}
	return TransportStdio
}

// clone returns a copy that shares nothing that [Record.Apply] changes.
func (r *Record) clone() *Record {
	c := *r
	c.Headers, c.Env = maps.Clone(r.Headers), maps.Clone(r.Env)
	c.Args = slices.Clone(r.Args)
	c.Extra = maps.Clone(r.Extra)
	c.Tools.Allow, c.Tools.Deny = slices.Clone(r.Tools.Allow), slices.Clone(r.Tools.Deny)
	c.Tools.Rename = maps.Clone(r.Tools.Rename)
	c.Auth, c.TLS = r.Auth.clone(), r.TLS.clone()
	if r.Isolation != nil {
		isolation := *r.Isolation
		isolation.Mounts, isolation.Args = slices.Clone(isolation.Mounts), slices.Clone(isolation.Args)
		c.Isolation = &isolation
	}
	return &c
}

// Masked returns a copy of r in which all secrets are masked, see [Mask]. The copy is
// for showing: nobody connects with it.
func (r *Record) Masked() *Record {
	m, c := newMasker(), r.clone()
	if c.URL != "" {
		c.URL = m.url(c.URL)
	}
	if c.Proxy != "" {
		c.Proxy = m.url(c.Proxy)
	}
	c.Args = m.argsOrNil(c.Args)
	maskValues(c.Headers)
	maskValues(c.Env)
	if c.Auth != nil {
		c.Auth.ClientSecret = Secret(Mask(c.Auth.ClientSecret.Reveal()))
	}
	if c.Isolation != nil {
		c.Isolation.Args = m.argsOrNil(c.Isolation.Args)
	}
	for key, raw := range c.Extra {
		shown, ok := m.json(raw, true)
		if !ok {
			shown = []byte(`"` + stars + `"`)
		}
		c.Extra[key] = shown
	}
	return c
}

func (m *masker) argsOrNil(args []string) []string {
	if args == nil {
		return nil
	}
	return m.args(args)
}

func maskValues(values map[string]Secret) {
	for name, value := range values {
		values[name] = Secret(Mask(value.Reveal()))
	}
}

// String returns one line for people: name, transport, the command or URL, and the
// environment or headers, with secrets masked and control characters taken out.
func (r Record) String() string {
	c := r.Masked()
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s", c.Name, c.kind())
	if c.Disabled {
		b.WriteString(", disabled")
	}
	if c.Command != "" {
		fmt.Fprintf(&b, ": %s", strings.Join(append([]string{c.Command}, c.Args...), " "))
	}
	if c.URL != "" {
		fmt.Fprintf(&b, ": %s", c.URL)
	}
	writeValues(&b, "env", c.Env)
	writeValues(&b, "headers", c.Headers)
	b.WriteByte(')')
	return plain.Text(strings.NewReplacer("\n", " ", "\r", " ").Replace(b.String()))
}

func writeValues(b *strings.Builder, what string, values map[string]Secret) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(b, "; %s", what)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(b, " %s=%s", name, values[name].Reveal())
	}
}

// Format prints String for every verb.
func (r Record) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue implements [slog.LogValuer].
func (r Record) LogValue() slog.Value { return slog.StringValue(r.String()) }
