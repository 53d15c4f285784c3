package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A server is a record as it is shown and as it is written: the tag key of a field is that of the entry which it changes.
// The other fields are what the host says. They may come back, and are left alone.
type server struct {
	ID             string          `json:"id"`
	Name           string          `json:"name" key:"name"`
	Description    string          `json:"description,omitempty" key:"description"`
	Transport      string          `json:"transport" key:"transport"`
	URL            string          `json:"url,omitempty" key:"url"`
	HeadersJSON    inText          `json:"headersJson,omitempty" key:"headers"`
	Command        string          `json:"command,omitempty" key:"command"`
	ArgsJSON       inText          `json:"argsJson,omitempty" key:"args"`
	EnvJSON        inText          `json:"envJson,omitempty" key:"env"`
	Cwd            string          `json:"cwd,omitempty" key:"cwd"`
	Enabled        bool            `json:"enabled" key:"enabled"`
	ConnectTimeout float64         `json:"connectTimeoutSeconds,omitempty" key:"connectTimeoutSeconds"`
	ReadTimeout    float64         `json:"readTimeoutSeconds,omitempty" key:"readTimeoutSeconds"`
	Source         string          `json:"source,omitempty"`           // where its entry stands
	Elsewhere      bool            `json:"elsewhere,omitempty"`        // which is not changed here
	MoreJSON       string          `json:"moreJson,omitempty" key:"*"` // moreKeys of its entry, which have no field here
	Builtin        bool            `json:"builtin"`
	LastStatus     string          `json:"lastStatus"`
	LastError      string          `json:"lastError,omitempty"`
	LastConnected  string          `json:"lastConnectedTime,omitempty"`
	ToolCount      int             `json:"toolCount"`
	Stage          host.Stage      `json:"stage,omitempty"`
	Revision       record.Revision `json:"revision,omitempty" key:"revision"` // if it comes back, the record is changed only while it has it
	CreateTime     string          `json:"createTime,omitempty"`
	UpdateTime     string          `json:"updateTime,omitempty"`
	DeleteTime     string          `json:"deleteTime,omitempty"`
}

// inText is a value of an entry as JSON in a text.
type inText string

// show returns a server as it is shown.
func (a *admin) show(s *manage.Server) server {
	r := s.Record
	shown := server{
		ID: idOf(s), MoreJSON: moreOf(r, moreKeys), Builtin: r.Builtin,
		LastStatus: cmp.Or(s.Last.Status, record.StatusDisconnected), LastError: s.Last.Error,
		LastConnected: localTime(s.Last.Connected), ToolCount: s.Last.Tools,
		Revision: s.Revision, CreateTime: localTime(s.Created), UpdateTime: localTime(s.Updated), DeleteTime: localTime(s.Deleted),
	}
	entry := entryOf(r)
	fields := reflect.ValueOf(&shown).Elem()
	for i := range fields.NumField() {
		key := fields.Type().Field(i).Tag.Get("key")
		if entry[key] == nil || !slices.Contains(dialect.OwnKeys(), key) { // which another program has
			continue
		}
		if text, ok := fields.Field(i).Addr().Interface().(*inText); ok {
			*text = inText(entry[key])
		} else {
			_ = json.Unmarshal(entry[key], fields.Field(i).Addr().Interface()) // of the same form
		}
	}
	shown.Name, shown.Transport, shown.Enabled = r.Title, transportOf(r), !r.Disabled
	if s.Status != nil {
		a.showStatus(&shown, s.Status)
	}
	return shown
}

// entryOf returns what a record says, by its keys.
func entryOf(r *config.Server) map[string]json.RawMessage {
	entry := map[string]json.RawMessage{}
	if data, err := r.Entry(); err == nil {
		_ = json.Unmarshal(data, &entry) // which is an object
	}
	return entry
}

// unquoted returns a text of JSON without its quotes, and other values as they are.
func unquoted(value json.RawMessage) string {
	if text, ok := jsonscan.String(value); ok {
		return text
	}
	return string(value)
}

// A serverInput is what a body says of a server, by the keys of the entry: what is absent or null stays what it is, and an
// empty text clears.
type serverInput struct {
	server // which has the names and forms of what may be said
	said   map[string]json.RawMessage
}

func (in *serverInput) UnmarshalJSON(data []byte) error {
	in.said = map[string]json.RawMessage{}
	fields := reflect.TypeFor[server]()
	for name, raw := range jsonscan.Fields(data) {
		for i := range fields.NumField() {
			f := fields.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if key := f.Tag.Get("key"); key == "" || !strings.EqualFold(tag, string(name)) || string(raw) == "null" {
				continue
			}
			value := reflect.New(f.Type)
			if json.Unmarshal(raw, value.Interface()) != nil {
				return &json.UnmarshalTypeError{Field: tag}
			}
			if text, ok := value.Interface().(*inText); ok {
				if raw = textual([]byte(cmp.Or(*text, "null"))); jsonscan.Valid(raw) != nil {
					return invalid(tag, "JSON")
				}
			}
			in.said[f.Tag.Get("key")] = raw
		}
	}
	return nil
}

// patch returns what the input changes of a record; of none, for a new one. A transport that is said as it
// is shown changes nothing, and neither does an empty field that is empty.
func (in *serverInput) patch(old *config.Server) (*record.Patch, error) {
	fields, err := in.more()
	if err != nil {
		return nil, err
	}
	maps.Copy(fields, in.said)
	delete(fields, "*")
	if old == nil {
		old = &config.Server{}
	} else if string(fields["transport"]) == jsonText(transportOf(old)) {
		delete(fields, "transport")
	}
	p := &record.Patch{}
	if err := p.UnmarshalJSON([]byte(jsonText(fields))); err != nil {
		return nil, err
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
	if in.said["*"] == nil {
		return fields, nil
	}
	wrong := invalid("moreJson", "an object in JSON of "+strings.Join(moreKeys, ", "))
	data := []byte(cmp.Or(unquoted(in.said["*"]), "{}"))
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

// moreOf returns what some keys of a record are, as JSON; empty if it has none of them.
func moreOf(r *config.Server, keys []string) string {
	all := entryOf(r)
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
