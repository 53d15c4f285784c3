package record

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Record is the entry of one server as written: references are not replaced. It is
// what programs that manage servers list, change and keep, see [Store].
//
// The tag of a field is its key in JSON, and in the Keys of a [Patch]; that of Disabled says the opposite.
//
// A Record that is printed, or encoded as JSON, has its secrets masked; [Record.Encode]
// is the one way to have them in clear. A Record is changed by [Record.Apply], which
// makes another one: those that come from a Store may be shared.
type Record struct {
	// Name is the server's name: 1-128 of letters, digits, '_', '-', '.' and blanks
	// inside, at least one of them a letter or digit. It is the Title of the [config.Server].
	Name        string `key:"name"`
	Description string `key:"description"` // free text

	// Transport is one of the Transport constants. Empty means [config.TransportStdio] with
	// a command and [config.TransportAuto] with a URL.
	Transport string                   `key:"transport"`
	URL       string                   `key:"url"`     // http or https; of a remote server
	Headers   map[string]config.Secret `key:"headers"` // sent with each request to it
	Proxy     string                   `key:"proxy"`   // see [config.Server.Proxy]
	TLS       *config.TLS              `key:"tls"`     // see [config.Server.TLS]
	Command   string                   `key:"command"` // the program of a local server
	Args      []string                 `key:"args"`    // its arguments; may hold secrets
	Env       map[string]config.Secret `key:"env"`     // added to its environment
	Cwd       string                   `key:"cwd"`     // its working directory

	Disabled bool `key:"enabled"`  // it is not to run
	Builtin  bool `key:"builtin"`  // it belongs to the program and cannot be removed; a [Patch] that changes this is refused
	Proposed bool `key:"proposed"` // see [config.Server.Proposed]
	Required bool `key:"required"` // see [config.Server.Required]
	Lazy     bool `key:"lazy"`     // see [config.Server.Lazy]
	Trust    bool `key:"trust"`    // see [config.Server.Trust]

	Quarantined bool   `key:"quarantined"` // see [config.Server.Quarantined]
	Ledger      string `key:"ledger"`      // see [config.Server.Ledger]

	ConnectTimeout time.Duration `key:"connectTimeoutSeconds"` // for start and handshake; 0 means the default
	ReadTimeout    time.Duration `key:"readTimeoutSeconds"`    // for the answer to one request; 0 likewise
	IdleTimeout    time.Duration `key:"idleTimeoutSeconds"`    // see [config.Server.IdleTimeout]; 0 likewise

	Identity   string            `key:"identity"`   // see [config.Server.Identity]
	UserHeader string            `key:"userHeader"` // see [config.Server.UserHeader]
	Auth       *config.Auth      `key:"auth"`       // how to log in; nil: as the server says
	Isolation  *config.Isolation `key:"isolation"`  // nil: none
	Limits     config.Limits     `key:"limits"`     // what the server may do at most
	Tools      config.ToolFilter `key:"tools"`      // which of its tools are used

	// Extra holds the keys of other programs, as JSON. No [Patch] changes them.
	Extra map[string]json.RawMessage
}

// Kind returns the transport, also where none is written.
func (r *Record) Kind() string {
	switch {
	case r.Transport != "":
		return dialect.Transport(r.Transport)
	case r.URL != "" && r.Command == "":
		return config.TransportAuto
	}
	return config.TransportStdio
}

// clone returns a copy that shares nothing that [Record.Apply] changes.
func (r *Record) clone() *Record { return Of(r.server()) }

// Of returns a server as a record, and nil for none. It is what was written if the server was read so, see
// [config.Options].AsWritten; else references are replaced in it.
func Of(s *config.Server) *Record {
	if s == nil {
		return nil
	}
	r := &Record{}
	copyFields(reflect.ValueOf(r).Elem(), reflect.ValueOf(s.Clone()).Elem())
	r.Name, r.Disabled = s.Title, s.Disabled
	return r
}

// server returns the record as a server, which stands nowhere and has no Name.
func (r *Record) server() *config.Server {
	s := &config.Server{}
	copyFields(reflect.ValueOf(s).Elem(), reflect.ValueOf(r).Elem())
	s.Name, s.Title, s.Disabled = "", r.Name, r.Disabled
	return s
}

// copyFields sets the exported fields that two structs have in common.
func copyFields(to, from reflect.Value) {
	for i := range to.NumField() {
		f := to.Type().Field(i)
		if value := from.FieldByName(f.Name); value.IsValid() && f.IsExported() {
			to.Field(i).Set(value)
		}
	}
}

// Masked returns a copy of r in which all secrets are masked. The copy is for showing,
// not for connecting.
func (r *Record) Masked() *Record { return Of(r.server().Masked()) }

// String returns the record for people: as JSON, with secrets masked and control characters
// taken out.
func (r Record) String() string {
	data, _ := r.MarshalJSON()
	return plain.Text(string(data))
}

// Format prints String for every verb.
func (r Record) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue implements [slog.LogValuer].
func (r Record) LogValue() slog.Value { return slog.StringValue(r.String()) }
