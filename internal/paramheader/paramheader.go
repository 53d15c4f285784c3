// Package paramheader knows which arguments of a tool revision 2026-07-28 of the protocol wants
// repeated in header fields of HTTP requests, and how values are written there.
package paramheader

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const annotation = "x-mcp-header"

// A Header is an argument of a tool that revision 2026-07-28 wants
// repeated in an HTTP header field, because its schema says so.
type Header struct {
	Field string   // Mcp-Param- and the name that the schema gives
	Path  []string // of the argument
}

// Find finds the annotations in an input schema. The protocol allows
// them on properties of type string, integer or boolean that are reached by
// properties alone, with names that are header tokens and differ in more than
// case. A tool that breaks these rules must not be used.
func Find(schema json.RawMessage) ([]Header, error) {
	if !bytes.Contains(schema, []byte(annotation)) {
		return nil, nil
	}
	f := &finder{names: map[string]bool{}}
	f.properties(schema, nil)
	if f.err == nil && count(schema) != len(f.found) {
		f.err = errors.New("stands where only a path of properties may lead")
	}
	if f.err != nil {
		return nil, fmt.Errorf("%s: %w", annotation, f.err)
	}
	return f.found, nil
}

// count returns how many members named x-mcp-header value holds at any depth,
// those that are mere names of properties left out.
func count(value []byte) int {
	n := 0
	for key, inner := range jsonscan.Fields(value) {
		switch string(key) {
		case annotation:
			n++
		case "properties":
			for _, property := range jsonscan.Fields(inner) {
				n += count(property)
			}
		case "const", "default", "enum", "examples":
			// data, not schemas
		default:
			n += count(inner)
		}
	}
	for element := range jsonscan.Elements(value) {
		n += count(element)
	}
	return n
}

type finder struct {
	found []Header
	names map[string]bool // in lower case
	err   error
}

func (f *finder) properties(schema []byte, path []string) {
	for key, value := range jsonscan.Fields(schema) {
		if string(key) != "properties" {
			continue
		}
		for name, property := range jsonscan.Fields(value) {
			f.property(property, append(path[:len(path):len(path)], string(name)))
		}
	}
}

func (f *finder) property(schema []byte, path []string) {
	var name []byte
	kind := ""
	for key, value := range jsonscan.Fields(schema) {
		switch string(key) {
		case annotation:
			name = value
		case "type":
			kind, _ = jsonscan.String(value)
		}
	}
	if name != nil {
		f.add(name, kind, path)
	}
	f.properties(schema, path)
}

func (f *finder) add(text []byte, kind string, path []string) {
	name, ok := jsonscan.String(text)
	where := strings.Join(path, ".")
	switch {
	case !ok || !httpfield.ValidName(name):
		f.err = fmt.Errorf("property %q: the name is no header token", where)
	case kind != "string" && kind != "integer" && kind != "boolean":
		f.err = fmt.Errorf("property %q: must have type string, integer or boolean", where)
	case f.names[strings.ToLower(name)]:
		f.err = fmt.Errorf("property %q: the name %q is taken", where, name)
	}
	f.names[strings.ToLower(name)] = true
	f.found = append(f.found, Header{"Mcp-Param-" + name, path})
}

// Fields returns the fields for a call with the given arguments. One that
// is absent or null has no field.
func Fields(headers []Header, args json.RawMessage) map[string]string {
	if len(headers) == 0 {
		return nil
	}
	fields := make(map[string]string, len(headers))
	for _, h := range headers {
		if text, ok := plainValue(jsonscan.Member(args, h.Path...)); ok {
			fields[h.Field] = text
		}
	}
	return fields
}

// plainValue writes a simple value as a header field does: a string without
// its quotes, a number without fraction or exponent.
func plainValue(value []byte) (string, bool) {
	if len(value) == 0 || string(value) == "null" || value[0] == '{' || value[0] == '[' {
		return "", false
	}
	if text, ok := jsonscan.String(value); ok {
		return text, true
	}
	if !bytes.ContainsAny(value, ".eE") || value[0] == 't' || value[0] == 'f' {
		return string(value), true
	}
	number, err := strconv.ParseFloat(string(value), 64)
	const exact = 1 << 53
	if err != nil || number != math.Trunc(number) || math.Abs(number) > exact {
		return "", false
	}
	return strconv.FormatInt(int64(number), 10), true
}

const prefix, suffix = "=?base64?", "?="

// Encode writes a value of an Mcp-Name or Mcp-Param field as revision 2026-07-28 defines
// it: as it is if it is plain printable ASCII without blanks at its ends, and else
// between "=?base64?" and "?=".
func Encode(value string) string {
	plain := value == strings.TrimSpace(value) && !(strings.HasPrefix(value, prefix) && strings.HasSuffix(value, suffix))
	for i := 0; i < len(value) && plain; i++ {
		plain = value[i] >= ' ' && value[i] < 0x7f
	}
	if plain {
		return value
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(value)) + suffix
}

// Decode returns the value that Encode wrote, and whether it is one.
func Decode(field string) (string, bool) {
	coded, ok := strings.CutPrefix(field, prefix)
	if !ok || !strings.HasSuffix(coded, suffix) {
		return field, true
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, suffix))
	return string(text), err == nil
}
