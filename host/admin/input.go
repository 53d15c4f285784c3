package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

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
func (in *serverInput) patch(old *config.Server) (*record.Patch, error) {
	fields, err := in.more()
	if err != nil {
		return nil, err
	}
	for key, text := range map[string]*string{"name": in.Name, "description": in.Description, "url": in.URL, "command": in.Command, "cwd": in.Cwd, "transport": in.Transport} {
		if text != nil && (key != "transport" || old == nil || *text != transportOf(old)) {
			fields[key] = json.RawMessage(jsonText(*text))
		}
	}
	for key, text := range map[string]*string{"headers": in.HeadersJSON, "env": in.EnvJSON, "args": in.ArgsJSON} {
		if text == nil {
			continue
		}
		if fields[key] = textual([]byte(cmp.Or(*text, "null"))); jsonscan.Valid(fields[key]) != nil {
			return nil, invalid(key+"Json", "JSON")
		}
	}
	for key, seconds := range map[string]*float64{"connectTimeoutSeconds": in.ConnectTimeout, "readTimeoutSeconds": in.ReadTimeout} {
		if seconds != nil {
			fields[key] = json.RawMessage(jsonText(*seconds))
		}
	}
	if in.Enabled != nil {
		fields["enabled"] = json.RawMessage(jsonText(*in.Enabled))
	}
	p := &record.Patch{}
	if err := p.UnmarshalJSON([]byte(jsonText(fields))); err != nil {
		return nil, err
	}
	if in.Revision != nil {
		p.Revision = *in.Revision
	}
	if old == nil {
		old = &config.Server{}
	}
	v := &p.Values
	for values, before := range map[*map[string]config.Secret]map[string]config.Secret{&v.Headers: old.Headers, &v.Env: old.Env} {
		for name, value := range *values { // what was a text before, as in a file, stays one
			if value != before[name] {
				(*values)[name] = config.Secret(dialect.Braced(value.Reveal()))
			}
		}
	}
	return p, nil
}

// moreKeys are the keys of an entry that have no field of their own here.
var moreKeys = []string{
	"auth", "identity", "isolation", "proxy", "tls", "trust", "userHeader", "idleTimeoutSeconds", "lazy", "limits", "required", "tools",
}

// strictKeys are those of them that take StdioWrite: they decide what a server may do, and who is sent what.
var strictKeys = []string{"auth", "identity", "isolation", "proxy", "tls", "trust", "userHeader"}

// more returns the other keys of an entry as the input says them; null for those that it leaves out.
func (in *serverInput) more() (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if in.MoreJSON == nil {
		return fields, nil
	}
	wrong := invalid("moreJson", "an object in JSON of "+strings.Join(moreKeys, ", "))
	data := []byte(cmp.Or(*in.MoreJSON, "{}"))
	if jsonscan.Valid(data) != nil || json.Unmarshal(data, &fields) != nil {
		return nil, wrong
	}
	for key := range fields {
		if !slices.Contains(moreKeys, key) {
			return nil, wrong
		}
	}
	for _, key := range moreKeys {
		if fields[key] == nil {
			fields[key] = json.RawMessage("null")
		}
	}
	return fields, nil
}

// moreOf returns what some keys of a record are, as JSON with its secrets masked; empty if it has none of them.
func moreOf(r *config.Server, keys []string) string {
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

func invalid(field, want string) error {
	return &record.Error{Code: record.CodeValueInvalid, Field: field, Err: errors.New("has to be " + want)}
}
