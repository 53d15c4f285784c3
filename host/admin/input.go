package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A serverInput is a record as it is written: what is absent or null stays what it is, and an empty text clears.
// What a server shows besides may come back, and is left alone.
type serverInput struct {
	Name           *string          `json:"name,omitempty"`
	Description    *string          `json:"description,omitempty"`
	Transport      *string          `json:"transport,omitempty"`
	URL            *string          `json:"url,omitempty"`
	HeadersJSON    *string          `json:"headersJson,omitempty"`
	Command        *string          `json:"command,omitempty"`
	ArgsJSON       *string          `json:"argsJson,omitempty"`
	EnvJSON        *string          `json:"envJson,omitempty"`
	Cwd            *string          `json:"cwd,omitempty"`
	Enabled        *bool            `json:"enabled,omitempty"`
	ConnectTimeout *float64         `json:"connectTimeoutSeconds,omitempty"`
	ReadTimeout    *float64         `json:"readTimeoutSeconds,omitempty"`
	MoreJSON       *string          `json:"moreJson,omitempty"`
	Revision       *record.Revision `json:"revision,omitempty"` // if given, the record is changed only while it has it

	ID            any `json:"id,omitempty"`
	Source        any `json:"source,omitempty"`
	Elsewhere     any `json:"elsewhere,omitempty"`
	Builtin       any `json:"builtin,omitempty"`
	LastStatus    any `json:"lastStatus,omitempty"`
	LastError     any `json:"lastError,omitempty"`
	LastConnected any `json:"lastConnectedTime,omitempty"`
	ToolCount     any `json:"toolCount,omitempty"`
	Stage         any `json:"stage,omitempty"`
	CreateTime    any `json:"createTime,omitempty"`
	UpdateTime    any `json:"updateTime,omitempty"`
	DeleteTime    any `json:"deleteTime,omitempty"`
}

// patch returns what the input changes of a record; of none, for a new one. A transport that is said as it
// is shown changes nothing, and neither does an empty field that is empty.
func (in *serverInput) patch(old *record.Record) (*record.Patch, error) {
	p := &record.Patch{}
	if err := in.more(p); err != nil {
		return nil, err
	}
	v := &p.Values
	say(p, "name", &v.Name, in.Name)
	say(p, "description", &v.Description, in.Description)
	say(p, "url", &v.URL, in.URL)
	say(p, "command", &v.Command, in.Command)
	say(p, "cwd", &v.Cwd, in.Cwd)
	if in.Transport != nil && (old == nil || *in.Transport != transportOf(old)) {
		kind := dialect.Transport(*in.Transport)
		say(p, "transport", &v.Transport, &kind)
	}
	if say(p, "enabled", &v.Disabled, in.Enabled) {
		v.Disabled = !v.Disabled
	}
	if in.Revision != nil {
		p.Revision = *in.Revision
	}
	err := errors.Join(
		sayJSON(p, "headers", "an object of texts", &v.Headers, in.HeadersJSON),
		sayJSON(p, "env", "an object of texts", &v.Env, in.EnvJSON),
		sayJSON(p, "args", "an array of texts", &v.Args, in.ArgsJSON),
		saySeconds(p, "connectTimeoutSeconds", &v.ConnectTimeout, in.ConnectTimeout),
		saySeconds(p, "readTimeoutSeconds", &v.ReadTimeout, in.ReadTimeout))
	if old == nil {
		old = &record.Record{}
	}
	for values, before := range map[*map[string]config.Secret]map[string]config.Secret{&v.Headers: old.Headers, &v.Env: old.Env} {
		for name, value := range *values { // what was a text before, as in a file, stays one
			if value != before[name] {
				(*values)[name] = config.Secret(dialect.Braced(value.Reveal()))
			}
		}
	}
	return p, err
}

// moreKeys are the keys of an entry that have no field of their own here. The first ones take StdioWrite: they decide
// what a server may do, and who is sent what.
var moreKeys = []string{
	"auth", "identity", "isolation", "proxy", "tls", "trust", "userHeader", "idleTimeoutSeconds", "lazy", "limits", "required", "tools",
}

const strictKeys = 7

// more has a patch make the other keys of an entry what the input says; what it leaves out of them is cleared.
func (in *serverInput) more(p *record.Patch) error {
	if in.MoreJSON == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(cmp.Or(*in.MoreJSON, "{}")), p); err != nil {
		if e, ok := errors.AsType[*record.Error](err); ok {
			return e
		}
		return invalid("moreJson", "an object in JSON")
	}
	for _, key := range p.Keys {
		if !slices.Contains(moreKeys, key) {
			return &record.Error{Code: record.CodeValueInvalid, Field: "moreJson", Err: fmt.Errorf("has the key %q, which is none of %s", key, strings.Join(moreKeys, ", "))}
		}
	}
	p.Revision, p.Keys = "", slices.Clone(moreKeys)
	return nil
}

// moreOf returns what some keys of a record are, as JSON with its secrets masked; empty if it has none of them.
func moreOf(r *record.Record, keys []string) string {
	all := map[string]json.RawMessage{}
	if data, err := json.Marshal(r); err != nil || json.Unmarshal(data, &all) != nil {
		return ""
	}
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return !slices.Contains(keys, key) })
	if len(all) == 0 {
		return ""
	}
	return jsonText(all)
}

// say has a patch change a field, if the input has it, and reports whether it has.
func say[T any](p *record.Patch, key string, to, from *T) bool {
	if from == nil {
		return false
	}
	p.Keys = append(p.Keys, key)
	*to = *from
	return true
}

// sayJSON is say for a field whose text is JSON. The empty text clears.
func sayJSON[T any](p *record.Patch, key, form string, to *T, text *string) error {
	if text == nil {
		return nil
	}
	var value T
	if *text != "" {
		data := []byte(*text)
		if jsonscan.Valid(data) != nil || json.Unmarshal(textual(data), &value) != nil {
			return invalid(key+"Json", form+" in JSON")
		}
	}
	say(p, key, to, &value)
	return nil
}

// textual returns a JSON object whose numbers, true and false are texts, as they are written; other values are left alone.
func textual(data []byte) []byte {
	values := map[string]json.RawMessage{}
	if json.Unmarshal(data, &values) != nil {
		return data
	}
	for name, value := range values {
		if c := value[0]; c == 't' || c == 'f' || c == '-' || '0' <= c && c <= '9' {
			values[name] = json.RawMessage(strconv.Quote(string(value)))
		}
	}
	return []byte(jsonText(values))
}

func saySeconds(p *record.Patch, key string, to *time.Duration, seconds *float64) error {
	if seconds == nil {
		return nil
	}
	if *seconds < 0 || *seconds > float64(math.MaxInt64/int64(time.Second)) {
		return invalid(key, "a number of seconds")
	}
	value := time.Duration(math.Round(*seconds * float64(time.Second)))
	say(p, key, to, &value)
	return nil
}

func invalid(field, want string) error {
	return &record.Error{Code: record.CodeValueInvalid, Field: field, Err: errors.New("has to be " + want)}
}
