package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const (
	maxFields      = 100
	maxFieldName   = 256 // bytes
	maxChoices     = 1_000
	maxPattern     = 1 << 10 // bytes
	maxFieldNumber = 400     // bytes of a number, and digits that its exponent adds
	maxEmail       = 1 << 10 // bytes
	// maxPatternSteps bounds what matching one text may cost: the instructions
	// of the pattern times the bytes of the text, which counts as no shorter
	// than minPatternText since the pattern must be compiled as well.
	maxPatternSteps = 1 << 20
	minPatternText  = 100
)

// A SchemaError reports why a schema is not that of a form. Its text can be shown to
// the server.
//
//cure:tell the author of the server
type SchemaError struct {
	// problem says what is wrong, such as "field \"f\" must have a simple type".
	problem string
}

func (e *SchemaError) Error() string { return "requestedSchema: " + e.problem }

func invalid(format string, args ...any) error {
	return &SchemaError{fmt.Sprintf(format, args...)}
}

// A FieldError reports what is wrong with a field of an answer to a form. Its
// text never has the value: it can be shown to the server.
//
//cure:show it beside the field, and let the user correct it
type FieldError struct {
	// Field is the name of the field.
	Field string
	// Problem goes on after the name, such as "is longer than 5 characters". It
	// is empty if the field is missing.
	Problem string
}

func (e *FieldError) Error() string {
	if e.Problem == "" {
		return fmt.Sprintf("the answer lacks %q", e.Field)
	}
	return fmt.Sprintf("the answer's %q %s", e.Field, e.Problem)
}

// A Form is the schema of an elicitation: a flat object of simple values. It can be
// used concurrently.
type Form struct {
	// Fields are the fields of the form, up to 100, in the server's order.
	Fields []Field

	closed bool // no other fields than these
}

// Parse reads a schema that a server requested. An empty schema, or null, is a form
// without fields. Properties may be of type string, number, integer and boolean, and
// lists of strings. Parse returns a [*SchemaError] if the schema demands more of an
// answer than a form can say; keywords that only describe are passed over.
func Parse(schema json.RawMessage) (*Form, error) {
	f := &Form{}
	schema = bytes.TrimSpace(schema)
	if len(schema) == 0 || string(schema) == "null" {
		return f, nil
	}
	if jsonscan.Valid(schema) != nil {
		return nil, invalid("is not JSON")
	}
	if schema[0] != '{' {
		return nil, invalid("is not a flat object schema")
	}
	var required []byte
	for key, value := range jsonscan.Fields(schema) {
		var err error
		switch string(key) {
		case "type":
			if kind, ok := jsonscan.String(value); !ok || kind != "object" {
				err = invalid("has type %.40s, must be object", value)
			}
		case "properties":
			err = f.addFields(value)
		case "required":
			required = value
		case "additionalProperties":
			f.closed = string(value) == "false"
			if value[0] != 't' && value[0] != 'f' {
				err = invalid("additionalProperties must be true or false")
			}
		case "$ref":
			if string(value) != `"#"` { // which says nothing but itself
				err = invalid("has the keyword $ref, which a form cannot have")
			}
		default:
			if asserts(string(key), "minProperties", "maxProperties") {
				err = invalid("has the keyword %s, which a form cannot have", key)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return f, f.require(required)
}

func (f *Form) addFields(properties []byte) error {
	if properties[0] != '{' {
		return invalid("properties is not an object")
	}
	for name, schema := range jsonscan.Fields(properties) {
		switch {
		case len(f.Fields) == maxFields:
			return invalid("has more than %d fields", maxFields)
		case len(name) > maxFieldName:
			return invalid("the name of field %d is longer than %d bytes", len(f.Fields)+1, maxFieldName)
		}
		field, err := newField(string(name), schema)
		if err != nil {
			return invalid("field %q %v", name, err)
		}
		f.Fields = append(f.Fields, *field)
	}
	return nil
}

// require notes which fields are required.
func (f *Form) require(names []byte) error {
	if len(names) > 0 && names[0] != '[' {
		return invalid("required is not a list of names")
	}
	count := 0
	for value := range jsonscan.Elements(names) {
		if count++; count > maxFields {
			return invalid("requires more than %d fields", maxFields)
		}
		name, ok := jsonscan.String(value)
		i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name })
		if !ok || i < 0 {
			return invalid("requires %.300s, which is no field of it", value)
		}
		f.Fields[i].Required = true
	}
	return nil
}

// Fill returns content as an accepted answer has it: with the defaults of the fields
// that it leaves out, and without those whose value is nil, which are left out on
// purpose. Values are JSON then. Fields that the form does not have are kept, unless the
// schema says that there are no others. It returns a [*FieldError] if the form does not
// allow the content.
func (f *Form) Fill(content map[string]any) (map[string]any, error) {
	filled := make(map[string]any, len(content))
	for i := range f.Fields {
		field := &f.Fields[i]
		value, given := content[field.Name]
		if !given && field.Default != nil {
			filled[field.Name] = field.Default
			continue
		}
		raw, err := encodeField(field.Name, value)
		if err != nil {
			return nil, err
		}
		if string(raw) == "null" {
			if field.Required {
				return nil, &FieldError{Field: field.Name}
			}
			continue
		}
		if err := field.check(raw); err != nil {
			return nil, err
		}
		filled[field.Name] = raw
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		known := slices.ContainsFunc(f.Fields, func(field Field) bool { return field.Name == name })
		if known {
			continue
		}
		if f.closed {
			return nil, &FieldError{name, "was not asked for"}
		}
		raw, err := encodeField(name, content[name])
		if err != nil {
			return nil, err
		}
		filled[name] = raw
	}
	return filled, nil
}

// Warnings returns what the user should know before they fill in the form, such as that
// it asks for a secret, as sentences without text of the server.
func (f *Form) Warnings() []string {
	var secret []string
	for i := range f.Fields {
		if f.Fields[i].Secret {
			secret = append(secret, strconv.Itoa(i+1))
		}
	}
	if len(secret) == 0 {
		return nil
	}
	what := "Field " + secret[0] + " asks"
	if len(secret) > 1 {
		what = "The fields " + strings.Join(secret, ", ") + " ask"
	}
	return []string{what + " for what looks like a secret, such as a password or a token. Servers must not ask for that in a form."}
}

// asserts reports whether a keyword of JSON Schema says something about values
// that no form can say, or is one of those others. Unknown keywords say nothing.
func asserts(keyword string, others ...string) bool {
	return slices.Contains(append(others, "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"const", "multipleOf", "exclusiveMinimum", "exclusiveMaximum",
		"properties", "patternProperties", "propertyNames", "additionalProperties", "required",
		"dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
		"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"), keyword)
}
