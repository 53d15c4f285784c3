package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxRecord bounds a record as JSON, in bytes.
const maxRecord = 1 << 20

// MarshalJSON returns r as it may be shown: as [Record.Encode] does, with secrets
// masked. It always says whether the server is enabled. [Record.Apply] takes it back,
// as a [Patch].
func (r Record) MarshalJSON() ([]byte, error) {
	c := r
	c.Extra = maps.Clone(r.Extra)
	for _, key := range shownKeys() {
		delete(c.Extra, key)
	}
	return c.server().MarshalJSON()
}

// Encode returns r as JSON with its secrets in clear, for storage that protects it.
// The keys are those of an entry in a file, and "name". [Decode] reads it back.
func (r *Record) Encode() ([]byte, error) {
	entry, err := r.Entry()
	if err != nil || r.Name == "" {
		return entry, err
	}
	name, err := json.Marshal(r.Name)
	if err != nil {
		return nil, err
	}
	named := append([]byte(`{"name":`), name...)
	if len(entry) > len("{}") {
		named = append(named, ',')
	}
	return append(named, entry[1:]...), nil
}

// Entry returns what stands behind the name in a file, with secrets in clear.
func (r *Record) Entry() (json.RawMessage, error) {
	if r == nil {
		return nil, errNoRecord
	}
	return r.server().Entry()
}

// Decode reads what [Record.Encode] returned. Keys that it does not know become
// Extra. It checks the form of data and not what [Record.Validate] does. The error, if
// any, is of [*Error]s, and holds no value from data.
func Decode(data []byte) (*Record, error) {
	var p Patch
	extra := map[string]json.RawMessage{}
	if err := p.decode(data, func(key string, raw []byte) { extra[key] = bytes.Clone(raw) }); err != nil {
		return nil, err
	}
	r := p.onto(&Record{Builtin: p.builtin.Value})
	if len(extra) > 0 {
		r.Extra = extra
	}
	return r, nil
}

// UnmarshalJSON reads what a user wrote to make a new server: a key that is unknown
// is an error, and so are secrets that are masked, see [Record.Validate].
func (r *Record) UnmarshalJSON(data []byte) error {
	var p Patch
	if err := p.decode(data, nil); err != nil {
		return err
	}
	*r = *p.onto(&Record{Builtin: p.builtin.Value})
	return nil
}

// An Optional is a field of a [Patch]: a value, or nothing said. The zero Optional says
// nothing.
type Optional[T any] struct {
	Value T    // the zero value clears the field
	Set   bool // something is said
}

// Some returns an Optional that says value.
func Some[T any](value T) Optional[T] { return Optional[T]{value, true} }

// A Patch says what to change of a [Record]: what it does not say stays, what it says
// to be empty is cleared. In JSON an absent key stays and null clears. Maps and lists
// are replaced as a whole. The keys of JSON are those of [Record.Encode]; those under
// which a host shows what became of a server are left alone.
type Patch struct {
	Name           Optional[string]                   // see [Record.Name]
	Description    Optional[string]                   // see [Record.Description]
	Transport      Optional[string]                   // see [Record.Transport]
	URL            Optional[string]                   // see [Record.URL]
	Headers        Optional[map[string]config.Secret] // see [Record.Headers]
	Command        Optional[string]                   // see [Record.Command]
	Args           Optional[[]string]                 // see [Record.Args]
	Env            Optional[map[string]config.Secret] // see [Record.Env]
	Cwd            Optional[string]                   // see [Record.Cwd]
	Disabled       Optional[bool]                     // see [Record.Disabled]; in JSON the opposite, "enabled"
	Proposed       Optional[bool]                     // see [Record.Proposed]
	Required       Optional[bool]                     // see [Record.Required]
	Lazy           Optional[bool]                     // see [Record.Lazy]
	Trust          Optional[bool]                     // see [Record.Trust]
	Quarantined    Optional[bool]                     // see [Record.Quarantined]
	Ledger         Optional[string]                   // see [Record.Ledger]
	ConnectTimeout Optional[time.Duration]            // see [Record.ConnectTimeout]
	ReadTimeout    Optional[time.Duration]            // see [Record.ReadTimeout]
	IdleTimeout    Optional[time.Duration]            // see [Record.IdleTimeout]
	Identity       Optional[string]                   // see [Record.Identity]
	UserHeader     Optional[string]                   // see [Record.UserHeader]
	Proxy          Optional[string]                   // see [Record.Proxy]
	TLS            Optional[*config.TLS]              // see [Record.TLS]
	Auth           Optional[*config.Auth]             // see [Record.Auth]
	Isolation      Optional[*config.Isolation]        // see [Record.Isolation]
	Limits         Optional[config.Limits]            // see [Record.Limits]
	Tools          Optional[config.ToolFilter]        // see [Record.Tools]

	// Revision, if not empty, is the one that the record must have, for functions that
	// apply the patch to a store. [Record.Apply] does not look at it.
	Revision Revision

	builtin Optional[bool] // must be as it is
}

// UnmarshalJSON reads a patch. Its errors are [*Error]s, joined, and hold no value.
func (p *Patch) UnmarshalJSON(data []byte) error {
	*p = Patch{}
	return p.decode(data, nil)
}

// decode reads data; other is called with what has no field. Nil refuses it.
func (p *Patch) decode(data []byte, other func(key string, raw []byte)) error {
	if len(data) > maxRecord {
		return &Error{Code: CodeValueInvalid, Err: fmt.Errorf("has more than %d bytes", maxRecord)}
	}
	data = bytes.TrimSpace(data)
	if err := jsonscan.Valid(data); err != nil {
		return &Error{Code: CodeValueInvalid, Err: errors.New("is not a JSON object without repeated keys")}
	}
	if data[0] != '{' {
		return &Error{Code: CodeValueInvalid, Err: errors.New("must be a JSON object")}
	}
	var errs []error
	fields := p.fields(new(Record))
	for key, raw := range jsonscan.Fields(data) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == string(key) })
		switch {
		case i >= 0:
			if err := fields[i].read(raw); err != nil {
				errs = append(errs, &Error{Code: CodeValueInvalid, Field: string(key), Err: err})
			}
		case other != nil:
			other(string(key), raw)
		case !slices.Contains(shownKeys(), string(key)): // else it is the server's status, which only the host knows
			errs = append(errs, &Error{Code: codeFieldUnknown, Field: string(key)})
		}
	}
	return errors.Join(errs...)
}

// shownKeys are the keys under which a host shows what became of a record. A [Patch]
// leaves them alone. Those that another program has in its entry are kept, and not shown.
func shownKeys() []string {
	return []string{"id", "createTime", "updateTime", "deleteTime", "lastStatus", "lastError", "lastConnected", "toolCount"}
}

// A field is one of a [Patch], and of the record that it is to change.
type field struct {
	key   string                 // in JSON
	read  func(raw []byte) error // has the patch say what JSON says; null clears
	apply func()                 // has the record say what the patch does, if anything
}

func fieldOf[T any](key string, said *Optional[T], to *T, read func([]byte) (T, error)) field {
	return field{key, func(raw []byte) (err error) {
		*said = Optional[T]{Set: true}
		if string(raw) != "null" {
			said.Value, err = read(raw)
		}
		return err
	}, func() {
		if said.Set {
			*to = said.Value
		}
	}}
}

// fields returns all fields.
func (p *Patch) fields(r *Record) []field {
	text, flag := decodeAs[string]("a string"), decodeAs[bool]("true or false")
	secrets := decodeAs[map[string]config.Secret]("an object of strings")
	readRevision := func(raw []byte) (err error) {
		p.Revision, err = decodeAs[Revision]("a string")(raw)
		return err
	}
	return []field{
		fieldOf("name", &p.Name, &r.Name, text),
		fieldOf("description", &p.Description, &r.Description, text),
		fieldOf("transport", &p.Transport, &r.Transport, text),
		fieldOf("url", &p.URL, &r.URL, text),
		fieldOf("headers", &p.Headers, &r.Headers, secrets),
		fieldOf("command", &p.Command, &r.Command, text),
		fieldOf("args", &p.Args, &r.Args, decodeAs[[]string]("an array of strings")),
		fieldOf("env", &p.Env, &r.Env, secrets),
		fieldOf("cwd", &p.Cwd, &r.Cwd, text),
		fieldOf("enabled", &p.Disabled, &r.Disabled, func(raw []byte) (bool, error) {
			on, err := flag(raw)
			return !on, err
		}),
		fieldOf("builtin", &p.builtin, new(bool), flag),
		fieldOf("proposed", &p.Proposed, &r.Proposed, flag),
		fieldOf("required", &p.Required, &r.Required, flag),
		fieldOf("lazy", &p.Lazy, &r.Lazy, flag),
		fieldOf("trust", &p.Trust, &r.Trust, flag),
		fieldOf("quarantined", &p.Quarantined, &r.Quarantined, flag),
		fieldOf("ledger", &p.Ledger, &r.Ledger, text),
		fieldOf("connectTimeoutSeconds", &p.ConnectTimeout, &r.ConnectTimeout, readSeconds),
		fieldOf("readTimeoutSeconds", &p.ReadTimeout, &r.ReadTimeout, readSeconds),
		fieldOf("idleTimeoutSeconds", &p.IdleTimeout, &r.IdleTimeout, readSeconds),
		fieldOf("identity", &p.Identity, &r.Identity, text),
		fieldOf("userHeader", &p.UserHeader, &r.UserHeader, text),
		fieldOf("proxy", &p.Proxy, &r.Proxy, text),
		fieldOf("tls", &p.TLS, &r.TLS, takeObject[config.TLS]),
		fieldOf("auth", &p.Auth, &r.Auth, takeObject[config.Auth]),
		fieldOf("isolation", &p.Isolation, &r.Isolation, takeObject[config.Isolation]),
		fieldOf("limits", &p.Limits, &r.Limits, takeValue[config.Limits]),
		fieldOf("tools", &p.Tools, &r.Tools, takeValue[config.ToolFilter]),
		{"revision", readRevision, func() {}},
	}
}

// decodeAs returns what reads a value of a type. Its error does not quote the value.
func decodeAs[T any](want string) func([]byte) (T, error) {
	return func(raw []byte) (v T, err error) {
		if json.Unmarshal(raw, &v) != nil {
			return v, errors.New("must be " + want)
		}
		return v, nil
	}
}

func readSeconds(raw []byte) (time.Duration, error) {
	most := dialect.MaxTimeout.Seconds()
	n, err := decodeAs[float64]("a number of seconds")(raw)
	if err == nil && (n < 0 || n > most) {
		err = fmt.Errorf("must be a number of seconds from 0 to %.0f", most)
	}
	return time.Duration(math.Round(n * float64(time.Second))), err
}

func takeObject[T any](raw []byte) (*T, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var v T
	if err := d.Decode(&v); err != nil || raw[0] != '{' {
		return nil, errors.New("is not of the right form, or has an unknown key") // err may quote
	}
	return &v, nil
}

// takeValue is takeObject for what is kept as a value.
func takeValue[T any](raw []byte) (v T, err error) {
	p, err := takeObject[T](raw)
	if err == nil {
		v = *p
	}
	return v, err
}
