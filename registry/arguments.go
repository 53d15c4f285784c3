package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// givenArgs returns args, and {} for empty or null.
func givenArgs(args json.RawMessage) json.RawMessage {
	if first := firstByte(args); first == 0 || first == 'n' && isNull(args) {
		return json.RawMessage("{}")
	}
	return args
}

// objectArgs returns args if they are a JSON object, and {} for empty or null.
func objectArgs(args json.RawMessage) (json.RawMessage, error) {
	args = givenArgs(args)
	first := firstByte(args)
	if !json.Valid(args) {
		err := json.Unmarshal(args, new(json.RawMessage))
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			err = fmt.Errorf("%w (after byte %d)", err, syntax.Offset)
		}
		return nil, fmt.Errorf("must be a JSON object, but are not valid JSON: %w", err)
	}
	if first != '{' {
		return nil, &notObjectError{article(kindByFirstByte(first))}
	}
	return args, nil
}

func isNull(data json.RawMessage) bool {
	return string(bytes.Trim(data, " \t\r\n")) == "null"
}

func kindByFirstByte(b byte) string {
	switch b {
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	default:
		return "number"
	}
}

// unmarshalArgs decodes checked args. It still fails where a schema says less, such as
// the range of a Go type.
func unmarshalArgs(args json.RawMessage, in any) error {
	err := json.Unmarshal(args, in)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		// Its own text holds the value.
		if mismatch.Field == "" {
			return fmt.Errorf("a value does not fit %v", mismatch.Type)
		}
		return fmt.Errorf("%s does not fit %v", plain.Quote(mismatch.Field), mismatch.Type)
	}
	return err
}

// checkArgs checks args, a valid JSON object, against a schema that was inferred
// from a Go type. It knows the keywords that inference makes, except the ranges
// of numbers: those are left to decoding, which is exact.
//
// A validator of all of JSON Schema would do, but takes 5.0 for an integer, which
// no Go integer can be decoded from.
func checkArgs(schema *jsonschema.Schema, args json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return err
	}
	var m mistakes
	m.check(schema, value, "")
	return m.err()
}

// check adds what is wrong with value, which stands at path.
func (m *mistakes) check(schema *jsonschema.Schema, value any, path string) {
	if m.full() {
		return
	}
	if want := typesOf(schema); want != nil && !slices.ContainsFunc(want, func(t string) bool { return isType(value, t) }) {
		got := kindOf(value)
		if got == "number" && slices.Contains(want, "integer") {
			got = "number with a fraction or exponent"
		}
		m.add(Problem{Path: path, Want: oneOfTypes(want), Got: article(got)})
		return
	}
	switch v := value.(type) {
	case map[string]any:
		m.checkObject(schema, v, path)
	case []any:
		if n := schema.MinItems; n != nil && len(v) != *n { // inferred from [n]T, so it is the maximum too
			m.add(Problem{Path: path, Want: fmt.Sprintf("an array of exactly %d elements", *n), Got: "one of " + strconv.Itoa(len(v))})
		}
		if schema.Items != nil {
			for i, item := range v {
				m.check(schema.Items, item, path+"["+strconv.Itoa(i)+"]")
			}
		}
	}
}

func (m *mistakes) checkObject(schema *jsonschema.Schema, object map[string]any, path string) {
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok {
			m.add(Problem{Path: schemagate.Member(path, name), Want: describeTypes(schema.Properties[name])})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch property, rest := schema.Properties[name], schema.AdditionalProperties; {
		case property != nil:
			m.check(property, object[name], schemagate.Member(path, name))
		case rest == nil: // anything goes
		case rest.Not != nil: // nothing more is allowed
			m.add(Problem{
				Path: schemagate.Member(path, name),
				Got:  article(kindOf(object[name])),
				Hint: knownHint(name, slices.Sorted(maps.Keys(schema.Properties))),
			})
		default:
			m.check(rest, object[name], schemagate.Member(path, name))
		}
	}
}

// typesOf returns the types that schema allows, null last; nil means any.
func typesOf(schema *jsonschema.Schema) []string {
	if schema.Type != "" {
		return []string{schema.Type}
	}
	if i := slices.Index(schema.Types, "null"); i >= 0 {
		return append(slices.Delete(slices.Clone(schema.Types), i, i+1), "null")
	}
	return schema.Types
}

func describeTypes(schema *jsonschema.Schema) string {
	if schema != nil {
		if types := typesOf(schema); types != nil {
			return oneOfTypes(types)
		}
	}
	return "any value"
}

func oneOfTypes(types []string) string {
	words := make([]string, len(types))
	for i, name := range types {
		words[i] = article(name)
	}
	return strings.Join(words, " or ")
}

func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array", "integer", "object":
		return "an " + kind
	}
	return "a " + kind
}

func isType(value any, name string) bool {
	if n, ok := value.(json.Number); ok && name == "integer" {
		return !strings.ContainsAny(string(n), ".eE")
	}
	return kindOf(value) == name
}

// kindOf names the JSON type of a value that was decoded into any.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}
