package admin

import (
	"encoding/json"
	"errors"
	"math"
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
	Revision       *record.Revision `json:"revision,omitempty"` // if given, the record is changed only while it has it

	ID            any `json:"id,omitempty"`
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
	say(&p.Name, in.Name)
	say(&p.Description, in.Description)
	say(&p.URL, in.URL)
	say(&p.Command, in.Command)
	say(&p.Cwd, in.Cwd)
	if in.Transport != nil && (old == nil || *in.Transport != transportOf(old)) {
		p.Transport = record.Some(dialect.Transport(*in.Transport))
	}
	if in.Enabled != nil {
		p.Disabled = record.Some(!*in.Enabled)
	}
	if in.Revision != nil {
		p.Revision = *in.Revision
	}
	var errs []error
	for _, m := range []struct {
		field string
		text  *string
		to    *record.Optional[map[string]config.Secret]
	}{{"headersJson", in.HeadersJSON, &p.Headers}, {"envJson", in.EnvJSON, &p.Env}} {
		errs = append(errs, readText(m.field, "an object of texts", m.text, m.to))
	}
	errs = append(errs, readText("argsJson", "an array of texts", in.ArgsJSON, &p.Args))
	for _, t := range []struct {
		field   string
		seconds *float64
		to      *record.Optional[time.Duration]
	}{{"connectTimeoutSeconds", in.ConnectTimeout, &p.ConnectTimeout}, {"readTimeoutSeconds", in.ReadTimeout, &p.ReadTimeout}} {
		if t.seconds == nil {
			continue
		}
		if s := *t.seconds; s < 0 || s > float64(math.MaxInt64/int64(time.Second)) {
			errs = append(errs, invalid(t.field, "a number of seconds"))
			continue
		}
		*t.to = record.Some(time.Duration(math.Round(*t.seconds * float64(time.Second))))
	}
	return p, errors.Join(errs...)
}

func say(to *record.Optional[string], from *string) {
	if from != nil {
		*to = record.Some(*from)
	}
}

// readText reads a field whose text is JSON. The empty text clears.
func readText[T any](field, form string, text *string, to *record.Optional[T]) error {
	if text == nil {
		return nil
	}
	var value T
	if *text != "" {
		data := []byte(*text)
		if jsonscan.Valid(data) != nil || json.Unmarshal(data, &value) != nil {
			return invalid(field, form+" in JSON")
		}
	}
	*to = record.Some(value)
	return nil
}

func invalid(field, want string) error {
	return &record.Error{Code: record.CodeValueInvalid, Field: field, Err: errors.New("has to be " + want)}
}
