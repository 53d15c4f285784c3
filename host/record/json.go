package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

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
// any, is of [*Error] values, and holds no value from data.
func Decode(data []byte) (*Record, error) {
	var p Patch
	extra := map[string]json.RawMessage{}
	if err := p.decode(data, func(key string, raw []byte) { extra[key] = bytes.Clone(raw) }); err != nil {
		return nil, err
	}
	r := p.onto(&Record{})
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
	*r = *p.onto(&Record{})
	return nil
}

// UnmarshalJSON reads a patch. Its errors are [*Error] values, joined, and hold no value.
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
	values := reflect.ValueOf(&p.Values).Elem()
	for name, raw := range jsonscan.Fields(data) {
		key := string(name)
		var err error
		switch field, known := fieldOf(values, key); {
		case known:
			p.Keys = append(p.Keys, key)
			err = readField(field, raw)
		case key == "revision":
			err = readField(reflect.ValueOf(&p.Revision).Elem(), raw)
		case other != nil:
			other(key, raw)
		case !slices.Contains(shownKeys(), key): // else it is the server's status, which only the host knows
			errs = append(errs, &Error{Code: codeFieldUnknown, Field: key})
		}
		if err != nil {
			errs = append(errs, &Error{Code: CodeValueInvalid, Field: key, Err: err})
		}
		if key == "enabled" && string(raw) != "null" {
			p.Values.Disabled = !p.Values.Disabled
		}
	}
	return errors.Join(errs...)
}

// shownKeys are the keys under which a host shows what became of a record. A [Patch]
// leaves them alone. Those that another program has in its entry are kept, and not shown.
func shownKeys() []string {
	return []string{"id", "createTime", "updateTime", "deleteTime", "lastStatus", "lastError", "lastConnected", "toolCount"}
}

// fieldOf returns the field of a [Record] that a key of JSON names.
func fieldOf(record reflect.Value, key string) (field reflect.Value, known bool) {
	for i := range record.NumField() {
		if key != "" && record.Type().Field(i).Tag.Get("key") == key {
			return record.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// readField reads the value of a field; null clears it. The error does not quote the value.
func readField(field reflect.Value, raw []byte) error {
	to := field.Addr().Interface()
	if seconds, ok := to.(*time.Duration); ok {
		return readSeconds(seconds, raw)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(to) // which may quote
	want := map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false",
		reflect.Slice: "an array of strings", reflect.Map: "an object of strings"}[field.Kind()]
	switch {
	case want != "" && err != nil:
		return errors.New("must be " + want)
	case want == "" && (err != nil || raw[0] != '{' && raw[0] != 'n'):
		return errors.New("is not of the right form, or has an unknown key")
	}
	return nil
}

func readSeconds(to *time.Duration, raw []byte) error {
	var n float64
	if json.Unmarshal(raw, &n) != nil {
		return errors.New("must be a number of seconds")
	}
	if most := dialect.MaxTimeout.Seconds(); n < 0 || n > most {
		return fmt.Errorf("must be a number of seconds from 0 to %.0f", most)
	}
	*to = time.Duration(math.Round(n * float64(time.Second)))
	return nil
}
