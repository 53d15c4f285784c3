package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A shape is what a JSON value is to a parameter.
type shape int

const (
	nothing  shape = iota // null, or an array or object without elements
	single                // a string, number or boolean
	sequence              // an array of scalars
	record                // an object of scalars
)

// A flat is a JSON value that is no deeper than a parameter can be. Numbers and
// booleans are in it as they were written.
type flat struct {
	shape   shape
	text    string   // of a scalar
	items   []string // of a sequence
	members []pair   // of a record
}

// flatten takes a checked JSON value apart. What is nested, and null within the
// value, no style has a form for.
func flatten(raw []byte, path string) (flat, *registry.Problem) {
	tooMany := &registry.Problem{Path: path, Want: fmt.Sprintf("of at most %d elements", maxItems), Got: "of more"}
	switch raw[0] {
	case 'n':
		return flat{}, nil
	case '[':
		var f flat
		for item := range jsonscan.Elements(raw) {
			text, problem := scalarOf(item, path+"["+strconv.Itoa(len(f.items))+"]")
			if problem != nil {
				return flat{}, problem
			}
			if len(f.items) == maxItems {
				return flat{}, tooMany
			}
			f.shape, f.items = sequence, append(f.items, text)
		}
		return f, nil
	case '{':
		var f flat
		for key, value := range jsonscan.Fields(raw) {
			text, problem := scalarOf(value, schemagate.Member(path, string(key)))
			if problem != nil {
				return flat{}, problem
			}
			if len(f.members) == maxItems {
				return flat{}, tooMany
			}
			f.shape, f.members = record, append(f.members, pair{string(key), text})
		}
		return f, nil
	default:
		return flat{shape: single, text: textOf(raw)}, nil
	}
}

func scalarOf(raw []byte, path string) (string, *registry.Problem) {
	switch raw[0] {
	case 'n', '[', '{':
		return "", &registry.Problem{Path: path, Want: "a string, a number or a boolean", Got: kindOf(raw), Hint: "this parameter has no form for it"}
	}
	return textOf(raw), nil
}

// textOf returns the content of a string, and any other value as JSON.
func textOf(raw []byte) string {
	if text, ok := jsonscan.String(raw); ok {
		return text
	}
	return string(compact(raw))
}

// compact returns a checked JSON value without white space.
func compact(raw []byte) []byte {
	if raw[0] != '[' && raw[0] != '{' {
		return raw
	}
	var text bytes.Buffer
	text.Grow(len(raw))
	if err := json.Compact(&text, raw); err != nil {
		return raw
	}
	return text.Bytes()
}

// kindOf names the type of a checked JSON value.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
