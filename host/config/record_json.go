package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxRecord bounds a record as JSON, in bytes.
const maxRecord = 1 << 20

// A wireRecord is a Record as JSON: the keys of an entry in a file, and the name.
type wireRecord struct {
	Name                  string            `json:"name,omitempty"`
	Description           string            `json:"description,omitempty"`
	Transport             string            `json:"transport,omitempty"`
	URL                   string            `json:"url,omitempty"`
	Headers               map[string]string `json:"headers,omitempty"`
	Command               string            `json:"command,omitempty"`
	Args                  []string          `json:"args,omitempty"`
	Env                   map[string]string `json:"env,omitempty"`
	Cwd                   string            `json:"cwd,omitempty"`
	Enabled               *bool             `json:"enabled,omitempty"`
	Builtin               bool              `json:"builtin,omitempty"`
	Required              bool              `json:"required,omitempty"`
	Lazy                  bool              `json:"lazy,omitempty"`
	Trust                 bool              `json:"trust,omitempty"`
	Quarantined           bool              `json:"quarantined,omitempty"`
	Ledger                string            `json:"ledger,omitempty"`
	ConnectTimeoutSeconds float64           `json:"connectTimeoutSeconds,omitempty"`
	ReadTimeoutSeconds    float64           `json:"readTimeoutSeconds,omitempty"`
	IdleTimeoutSeconds    float64           `json:"idleTimeoutSeconds,omitempty"`
	Identity              string            `json:"identity,omitempty"`
	UserHeader            string            `json:"userHeader,omitempty"`
	Proxy                 string            `json:"proxy,omitempty"`
	TLS                   *wireTLS          `json:"tls,omitempty"`
	Auth                  *wireAuth         `json:"auth,omitempty"`
	Isolation             *wireIsolation    `json:"isolation,omitempty"`
	Limits                *wireLimits       `json:"limits,omitempty"`
	Tools                 *wireTools        `json:"tools,omitempty"`
}

type wireIsolation struct {
	Kind    string      `json:"kind,omitempty"`
	Image   string      `json:"image,omitempty"`
	Mounts  []wireMount `json:"mounts,omitempty"`
	Network bool        `json:"network,omitempty"`
	Args    []string    `json:"args,omitempty"`
}

type wireMount struct {
	Path   string `json:"path"`
	Target string `json:"target,omitempty"`
	Write  bool   `json:"write,omitempty"`
}

type wireLimits struct {
	MaxTools    int   `json:"maxTools,omitempty"`
	MaxInFlight int   `json:"maxInFlight,omitempty"`
	MaxQueued   int   `json:"maxQueued,omitempty"`
	MaxMessage  int64 `json:"maxMessageBytes,omitempty"`
}

type wireTools struct {
	Allow  *[]string         `json:"allow,omitempty"` // an empty list allows none
	Deny   []string          `json:"deny,omitempty"`
	Rename map[string]string `json:"rename,omitempty"`
}

// MarshalJSON returns r as it may be shown: as [Record.Encode] does, with secrets
// masked. It always says whether the server is enabled. [Record.Apply] takes it back,
// as a [Patch].
func (r Record) MarshalJSON() ([]byte, error) {
	m := r.Masked()
	for _, key := range shownKeys() {
		delete(m.Extra, key)
	}
	return m.encode(true, true)
}

// Encode returns r as JSON with its secrets in clear, for storage that protects it.
// The keys are those of an entry in a file, and "name". [DecodeRecord] reads it back.
func (r *Record) Encode() ([]byte, error) { return r.encode(true, false) }

// entry returns what stands behind the name in a file.
func (r *Record) entry() (json.RawMessage, error) { return r.encode(false, false) }

func (r *Record) encode(named, whole bool) ([]byte, error) {
	if r == nil {
		return nil, errNoRecord
	}
	w := wireRecord{
		Description: r.Description, Transport: r.Transport,
		URL: r.URL, Headers: revealed(r.Headers),
		Command: r.Command, Args: r.Args, Env: revealed(r.Env), Cwd: r.Cwd,
		Builtin: r.Builtin, Required: r.Required, Lazy: r.Lazy, Trust: r.Trust, Quarantined: r.Quarantined, Ledger: r.Ledger,
		ConnectTimeoutSeconds: r.ConnectTimeout.Seconds(),
		ReadTimeoutSeconds:    r.ReadTimeout.Seconds(),
		IdleTimeoutSeconds:    r.IdleTimeout.Seconds(),
		Identity:              r.Identity, UserHeader: r.UserHeader,
		Proxy: r.Proxy, TLS: r.TLS.wire(), Auth: r.Auth.wire(),
	}
	if named {
		w.Name = r.Name
	}
	if enabled := !r.Disabled; whole || !enabled {
		w.Enabled = &enabled
	}
	if i := r.Isolation; i != nil {
		w.Isolation = &wireIsolation{i.Kind, i.Image, nil, i.Network, i.Args}
		for _, m := range i.Mounts {
			w.Isolation.Mounts = append(w.Isolation.Mounts, wireMount(m))
		}
	}
	if r.Limits != (Limits{}) {
		limits := wireLimits(r.Limits)
		w.Limits = &limits
	}
	if t := r.Tools; t.Allow != nil || len(t.Deny) > 0 || len(t.Rename) > 0 {
		w.Tools = &wireTools{Deny: t.Deny, Rename: t.Rename}
		if t.Allow != nil {
			w.Tools.Allow = &t.Allow
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(w); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return appendExtra(out, r.Extra)
}

// appendExtra puts further members at the end of an object.
func appendExtra(object []byte, extra map[string]json.RawMessage) ([]byte, error) {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if recordKey(key) {
			continue // it has a field
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		object = object[:len(object)-1]
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(append(append(object, name...), ':'), extra[key]...), '}')
	}
	return object, nil
}

func revealed(values map[string]Secret) map[string]string {
	if values == nil {
		return nil
	}
	clear := make(map[string]string, len(values))
	for name, value := range values {
		clear[name] = value.Reveal()
	}
	return clear
}

// DecodeRecord reads what [Record.Encode] returned. Keys that it does not know become
// Extra. It checks the form of data and not what [Record.Validate] does. The error, if
// any, is of [*RecordError]s, and holds no value from data.
func DecodeRecord(data []byte) (*Record, error) {
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

// UnmarshalJSON reads what somebody wrote to make a new server: a key that is unknown
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
	Name           Optional[string]            // see [Record.Name]
	Description    Optional[string]            // see [Record.Description]
	Transport      Optional[string]            // see [Record.Transport]
	URL            Optional[string]            // see [Record.URL]
	Headers        Optional[map[string]Secret] // see [Record.Headers]
	Command        Optional[string]            // see [Record.Command]
	Args           Optional[[]string]          // see [Record.Args]
	Env            Optional[map[string]Secret] // see [Record.Env]
	Cwd            Optional[string]            // see [Record.Cwd]
	Disabled       Optional[bool]              // see [Record.Disabled]; in JSON the opposite, "enabled"
	Required       Optional[bool]              // see [Record.Required]
	Lazy           Optional[bool]              // see [Record.Lazy]
	Trust          Optional[bool]              // see [Record.Trust]
	Quarantined    Optional[bool]              // see [Record.Quarantined]
	Ledger         Optional[string]            // see [Record.Ledger]
	ConnectTimeout Optional[time.Duration]     // see [Record.ConnectTimeout]
	ReadTimeout    Optional[time.Duration]     // see [Record.ReadTimeout]
	IdleTimeout    Optional[time.Duration]     // see [Record.IdleTimeout]
	Identity       Optional[string]            // see [Record.Identity]
	UserHeader     Optional[string]            // see [Record.UserHeader]
	Proxy          Optional[string]            // see [Record.Proxy]
	TLS            Optional[*TLS]              // see [Record.TLS]
	Auth           Optional[*Auth]             // see [Record.Auth]
	Isolation      Optional[*Isolation]        // see [Record.Isolation]
	Limits         Optional[Limits]            // see [Record.Limits]
	Tools          Optional[ToolFilter]        // see [Record.Tools]

	// Revision, if not empty, is the one that the record must have, for whoever applies
	// the patch to a store. [Record.Apply] does not look at it.
	Revision Revision

	builtin Optional[bool] // must be as it is
}

// UnmarshalJSON reads a patch. Its errors are [*RecordError]s, joined, and hold no value.
func (p *Patch) UnmarshalJSON(data []byte) error {
	*p = Patch{}
	return p.decode(data, nil)
}

// decode reads data; other is called with what has no field. Nil refuses it.
func (p *Patch) decode(data []byte, other func(key string, raw []byte) error) error {
	if len(data) > maxRecord {
		return &RecordError{Code: CodeValueInvalid, Err: fmt.Errorf("has more than %d bytes", maxRecord)}
	}
	data = bytes.TrimSpace(data)
	if err := jsonscan.Valid(data); err != nil {
		return &RecordError{Code: CodeValueInvalid, Err: errors.New("is not a JSON object without repeated keys")}
	}
	if data[0] != '{' {
		return &RecordError{Code: CodeValueInvalid, Err: errors.New("must be a JSON object")}
	}
	var errs []error
	for key, raw := range jsonscan.Fields(data) {
		known, err := p.member(string(key), raw)
		switch {
		case err != nil:
			errs = append(errs, &RecordError{Code: CodeValueInvalid, Field: string(key), Err: err})
		case !known && other == nil && slices.Contains(shownKeys(), string(key)):
			// What became of the server, which nobody can say but the host.
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

// recordKey reports whether a key has a field of its own.
func recordKey(key string) bool {
	known, _ := new(Patch).member(key, []byte("null"))
	return known
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

func takeIsolation(raw []byte) (*Isolation, error) {
	w, err := takeObject[wireIsolation](raw)
	if err != nil {
		return nil, err
	}
	i := &Isolation{Kind: w.Kind, Image: w.Image, Network: w.Network, Args: w.Args}
	for _, m := range w.Mounts {
		i.Mounts = append(i.Mounts, Mount(m))
	}
	return i, nil
}

func takeLimits(raw []byte) (Limits, error) {
	w, err := takeObject[wireLimits](raw)
	if err != nil {
		return Limits{}, err
	}
	return Limits(*w), nil
}

func takeTools(raw []byte) (ToolFilter, error) {
	w, err := takeObject[wireTools](raw)
	if err != nil {
		return ToolFilter{}, err
	}
	f := ToolFilter{Deny: w.Deny, Rename: w.Rename}
	if w.Allow != nil {
		f.Allow = append([]string{}, *w.Allow...)
	}
	return f, nil
}

// appendTexts puts further members that are strings at the end of an object.
func appendTexts(object []byte, texts map[string]string) ([]byte, error) {
	more := make(map[string]json.RawMessage, len(texts))
	for key, text := range texts {
		raw, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		more[key] = raw
	}
	return appendExtra(object, more)
}
