package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	if err := p.decode(data, func(key string, raw []byte) error {
		extra[key] = bytes.Clone(raw)
		return nil
	}); err != nil {
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
func (p *Patch) decode(data []byte, other func(key string, raw []byte) error) error {
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
	for key, raw := range jsonscan.Fields(data) {
		known, err := p.member(string(key), raw)
		switch {
		case err != nil:
			errs = append(errs, &Error{Code: CodeValueInvalid, Field: string(key), Err: err})
		case !known && other == nil && slices.Contains(shownKeys(), string(key)):
			// It is the server's status, which only the host knows.
		case !known && other != nil:
			errs = append(errs, other(string(key), raw))
		case !known:
			errs = append(errs, unknownField(string(key)))
		}
	}
	return errors.Join(errs...)
}

// shownKeys are the keys under which a host shows what became of a record. A [Patch]
// leaves them alone. Those that another program has in its entry are kept, and not shown.
func shownKeys() []string {
	return []string{"id", "createTime", "updateTime", "deleteTime", "lastStatus", "lastError", "lastConnected", "toolCount"}
}

// member reads one member and reports whether its key is known.
func (p *Patch) member(key string, raw []byte) (known bool, err error) {
	switch key {
	case "name":
		err = take(&p.Name, raw, takeText)
	case "description":
		err = take(&p.Description, raw, takeText)
	case "transport":
		err = take(&p.Transport, raw, takeText)
	case "url":
		err = take(&p.URL, raw, takeText)
	case "headers":
		err = take(&p.Headers, raw, takeSecrets)
	case "command":
		err = take(&p.Command, raw, takeText)
	case "args":
		err = take(&p.Args, raw, takeTexts)
	case "env":
		err = take(&p.Env, raw, takeSecrets)
	case "cwd":
		err = take(&p.Cwd, raw, takeText)
	case "enabled":
		err = take(&p.Disabled, raw, takeNot)
	case "builtin":
		err = take(&p.builtin, raw, takeBool)
	case "proposed":
		err = take(&p.Proposed, raw, takeBool)
	case "required":
		err = take(&p.Required, raw, takeBool)
	case "lazy":
		err = take(&p.Lazy, raw, takeBool)
	case "trust":
		err = take(&p.Trust, raw, takeBool)
	case "quarantined":
		err = take(&p.Quarantined, raw, takeBool)
	case "ledger":
		err = take(&p.Ledger, raw, takeText)
	case "connectTimeoutSeconds":
		err = take(&p.ConnectTimeout, raw, takeSeconds)
	case "readTimeoutSeconds":
		err = take(&p.ReadTimeout, raw, takeSeconds)
	case "idleTimeoutSeconds":
		err = take(&p.IdleTimeout, raw, takeSeconds)
	case "identity":
		err = take(&p.Identity, raw, takeText)
	case "userHeader":
		err = take(&p.UserHeader, raw, takeText)
	case "proxy":
		err = take(&p.Proxy, raw, takeText)
	case "tls":
		err = take(&p.TLS, raw, takeTLS)
	case "auth":
		err = take(&p.Auth, raw, takeAuth)
	case "isolation":
		err = take(&p.Isolation, raw, takeIsolation)
	case "limits":
		err = take(&p.Limits, raw, takeLimits)
	case "tools":
		err = take(&p.Tools, raw, takeTools)
	case "revision":
		var revision Optional[string]
		err = take(&revision, raw, takeText)
		p.Revision = Revision(revision.Value)
	default:
		return false, nil
	}
	return true, err
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

func takeIsolation(raw []byte) (*config.Isolation, error) {
	w, err := takeObject[dialect.OwnIsolation](raw)
	if err != nil {
		return nil, err
	}
	i := &config.Isolation{Kind: w.Kind, Image: w.Image, Network: w.Network, Args: w.Args}
	for _, m := range w.Mounts {
		i.Mounts = append(i.Mounts, config.Mount(m))
	}
	return i, nil
}

func takeLimits(raw []byte) (config.Limits, error) {
	w, err := takeObject[dialect.OwnLimits](raw)
	if err != nil {
		return config.Limits{}, err
	}
	return config.Limits(*w), nil
}

func takeTools(raw []byte) (config.ToolFilter, error) {
	w, err := takeObject[dialect.OwnTools](raw)
	if err != nil {
		return config.ToolFilter{}, err
	}
	f := config.ToolFilter{Deny: w.Deny, Rename: w.Rename}
	if w.Allow != nil {
		f.Allow = append([]string{}, *w.Allow...)
	}
	return f, nil
}

func takeAuth(raw []byte) (*config.Auth, error) {
	w, err := takeObject[dialect.OwnAuth](raw)
	if err != nil {
		return nil, err
	}
	return &config.Auth{
		ClientID: w.ClientID, ClientSecret: config.Secret(w.ClientSecret), Scopes: w.Scopes, Issuer: w.Issuer, RedirectURL: w.RedirectURL,
		AuthorizationURL: w.AuthorizationURL, TokenURL: w.TokenURL, DeviceURL: w.DeviceURL,
		Grant: w.Grant, LoginParams: w.LoginParams, AskConsent: w.AskConsent,
	}, nil
}

func takeTLS(raw []byte) (*config.TLS, error) {
	w, err := takeObject[dialect.OwnTLS](raw)
	if err != nil {
		return nil, err
	}
	t := config.TLS(*w)
	return &t, nil
}
