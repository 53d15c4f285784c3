package schemagate

import (
	"encoding/json"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A reader decodes JSON into the types of encoding/json, with exact numbers, and
// stops where the JSON is larger than allowed.
type reader struct {
	cursor jsonscan.Cursor
	values int // that may still come
	depth  int // of containers that may still open
}

// The ways in which JSON is larger than allowed.
type excess int

const (
	fine excess = iota
	tooMany
	tooDeep
	tooLong // a number
)

// read decodes checked JSON.
func read(raw []byte, values, depth int) (any, excess) {
	r := reader{jsonscan.Walk(raw), values, depth}
	return r.value()
}

func (r *reader) value() (any, excess) {
	if r.values--; r.values < 0 {
		return nil, tooMany
	}
	switch kind := r.cursor.Kind(); kind {
	case '{', '[':
		if r.depth--; r.depth < 0 {
			return nil, tooDeep
		}
		defer func() { r.depth++ }()
		if kind == '{' {
			return r.object()
		}
		return r.array()
	case '"':
		text, _ := jsonscan.String(r.cursor.Value())
		return text, fine
	case 't', 'f':
		r.cursor.Skip()
		return kind == 't', fine
	case 'n':
		r.cursor.Skip()
		return nil, fine
	}
	number := json.Number(r.cursor.Value())
	if digits(number) > MaxDigits {
		return nil, tooLong
	}
	return number, fine
}

func (r *reader) object() (any, excess) {
	object := map[string]any{}
	for key := range r.cursor.Members() {
		name := string(key)
		value, excess := r.value()
		if excess != fine {
			return nil, excess
		}
		object[name] = value
	}
	return object, fine
}

func (r *reader) array() (any, excess) {
	array := []any{}
	for range r.cursor.Elements() {
		value, excess := r.value()
		if excess != fine {
			return nil, excess
		}
		array = append(array, value)
	}
	return array, fine
}

// digits returns about how many digits a number has without its exponent, or
// more than MaxDigits.
func digits(number json.Number) int {
	mantissa, exponent := string(number), ""
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		mantissa, exponent = mantissa[:at], strings.TrimLeft(mantissa[at+1:], "+-0")
	}
	if len(exponent) > 6 || len(mantissa) > MaxDigits {
		return MaxDigits + 1
	}
	size := 0
	for _, digit := range []byte(exponent) {
		size = size*10 + int(digit-'0')
	}
	return size + len(mantissa)
}
