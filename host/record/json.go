package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxRecord bounds a record as JSON, in bytes.
const maxRecord = 1 << 20

// Encode returns r as JSON with its secrets in clear, for storage that protects it.
// The keys are those of an entry in a file, and "name". [Decode] reads it back.
func Encode(r *config.Server) ([]byte, error) {
	entry, err := r.Entry()
	if err != nil {
		return nil, err
	}
	title := cmp.Or(r.Title, r.Name)
	if title == "" {
		return entry, nil
	}
	name, err := json.Marshal(title)
	if err != nil {
		return nil, err
	}
	named := append([]byte(`{"name":`), name...)
	if len(entry) > len("{}") {
		named = append(named, ',')
	}
	return append(named, entry[1:]...), nil
}

// Decode reads what [Encode] returned. Keys that it does not know become
// Extra. It checks the form of data and not what [Validate] does. The error, if
// any, is of [*Error] values, and holds no value from data.
func Decode(data []byte) (*config.Server, error) {
	var p Patch
	extra := map[string]json.RawMessage{}
	if err := p.decode(data, func(key string, raw []byte) { extra[key] = bytes.Clone(raw) }); err != nil {
		return nil, err
	}
	r := p.onto(&config.Server{})
	if len(extra) > 0 {
		r.Extra = extra
	}
	return r, nil
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
		default:
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

// fieldOf returns the field of a record that a key of JSON names.
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
