package mcp

import (
	"encoding/json"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Types of a [FormField].
const (
	FieldString  = "string"
	FieldNumber  = "number"
	FieldInteger = "integer"
	FieldBoolean = "boolean"
	// FieldArray is a list of strings without repetitions: several of the field's
	// choices or, from servers that go beyond the protocol, any strings.
	FieldArray = "array"
)

// A FormField is one field of a form in an elicitation. All texts are those of the
// server, which is not trusted: set them off from the program's own, and show no
// control characters. A FormField must not be changed.
type FormField struct {
	// Name is the field's name in the answer. It is up to 256 bytes long.
	Name string `json:"name"`
	// Title is what to call the field. It may be empty.
	Title string `json:"title,omitempty"`
	// Description says what is wanted. It may be empty.
	Description string `json:"description,omitempty"`
	// Type is the JSON type of the value: [FieldString], [FieldNumber],
	// [FieldInteger], [FieldBoolean] or [FieldArray].
	Type string `json:"type"`
	// Required says that the answer must have the field.
	Required bool `json:"required,omitempty"`
	// Default is the value of a field that is left out; nil if there is none. One
	// that the field itself does not allow has been dropped.
	Default json.RawMessage `json:"default,omitempty"`
	// Choices are the values to choose from, up to 1,000, in the server's order.
	// Without any the value is free.
	Choices []Choice `json:"choices,omitempty"`
	// Multiple says that several of Choices can be chosen.
	Multiple bool `json:"multiple,omitempty"`
	// MinLength is how many characters a string must have. Nil means no bound.
	MinLength *int `json:"minLength,omitempty"`
	// MaxLength is how many characters a string can have. Nil means no bound.
	MaxLength *int `json:"maxLength,omitempty"`
	// Minimum is the least number, however large. Nil means no bound.
	Minimum *json.Number `json:"minimum,omitempty"`
	// Maximum is the greatest number, however large. Nil means no bound.
	Maximum *json.Number `json:"maximum,omitempty"`
	// MinItems is how many elements a list must have. Nil means no bound.
	MinItems *int `json:"minItems,omitempty"`
	// MaxItems is how many elements a list can have. Nil means no bound.
	MaxItems *int `json:"maxItems,omitempty"`
	// Pattern is a regular expression that a string must match somewhere, up to
	// 1,024 bytes. One that package regexp cannot read, such as one that looks
	// ahead, is not checked here, only by the server; nor is a text for which
	// that would take long.
	Pattern string `json:"pattern,omitempty"`
	// Format is what a string must be: "email", "uri", "date" (2006-01-02) or
	// "date-time" (RFC 3339). Other formats are not checked.
	Format string `json:"format,omitempty"`
	// Secret says that the field asks for what looks like a password, a token or
	// another secret, by its name, its title or its format. The protocol forbids
	// servers to ask for that in a form: warn the user, and do not show or keep what
	// they type.
	Secret bool `json:"secret,omitempty"`
}

// A Choice is one of the values to choose from in a [FormField].
type Choice struct {
	// Value is what stands in the answer.
	Value string `json:"value"`
	// Title is what to show. It is Value if the server gave no title.
	Title string `json:"title"`
}

// Label returns what to call the field: its title or, without one, its name.
func (f *FormField) Label() string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}

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

// A form is the schema of an elicitation: a flat object of simple values.
type form struct {
	fields []FormField
	closed bool // no other fields than these
}

// newForm reads a requested schema that was checked by jsonscan. The protocol
// allows properties of type string, number, integer, boolean, and lists of
// choices. What would say more about the answer than is understood here makes
// the form invalid; keywords that only describe are passed over.
func newForm(schema json.RawMessage) (*form, error) {
	f := &form{}
	if len(schema) == 0 || string(schema) == "null" {
		return f, nil
	}
	if schema[0] != '{' {
		return nil, refused("requestedSchema is not a flat object schema")
	}
	var required []byte
	for key, value := range jsonscan.Fields(schema) {
		var err error
		switch string(key) {
		case "type":
			if kind, ok := jsonscan.String(value); !ok || kind != "object" {
				err = refused("requestedSchema has type %.40s, must be object", value)
			}
		case "properties":
			err = f.addFields(value)
		case "required":
			required = value
		case "additionalProperties":
			f.closed = string(value) == "false"
			if value[0] != 't' && value[0] != 'f' {
				err = refused("requestedSchema: additionalProperties must be true or false")
			}
		case "$ref":
			if string(value) != `"#"` { // which says nothing but itself
				err = refused("requestedSchema has the keyword $ref, which a form cannot have")
			}
		case "minProperties", "maxProperties":
			err = refused("requestedSchema has the keyword %s, which a form cannot have", key)
		default:
			if asserts(string(key)) {
				err = refused("requestedSchema has the keyword %s, which a form cannot have", key)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return f, f.require(required)
}

func (f *form) addFields(properties []byte) error {
	if properties[0] != '{' {
		return refused("requestedSchema: properties is not an object")
	}
	for name, schema := range jsonscan.Fields(properties) {
		switch {
		case len(f.fields) == maxFields:
			return refused("requestedSchema has more than %d fields", maxFields)
		case len(name) > maxFieldName:
			return refused("requestedSchema: the name of field %d is longer than %d bytes", len(f.fields)+1, maxFieldName)
		}
		field, err := newField(string(name), schema)
		if err != nil {
			return refused("requestedSchema: field %q %v", name, err)
		}
		f.fields = append(f.fields, *field)
	}
	return nil
}

// require notes which fields are required.
func (f *form) require(names []byte) error {
	if len(names) > 0 && names[0] != '[' {
		return refused("requestedSchema: required is not a list of names")
	}
	count := 0
	for value := range jsonscan.Elements(names) {
		if count++; count > maxFields {
			return refused("requestedSchema requires more than %d fields", maxFields)
		}
		name, ok := jsonscan.String(value)
		i := slices.IndexFunc(f.fields, func(field FormField) bool { return field.Name == name })
		if !ok || i < 0 {
			return refused("requestedSchema requires %.300s, which is no field of it", value)
		}
		f.fields[i].Required = true
	}
	return nil
}

// asserts reports whether a keyword of JSON Schema says something about values
// that no form can say. Unknown keywords say nothing.
func asserts(keyword string) bool {
	switch keyword {
	case "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"const", "multipleOf", "exclusiveMinimum", "exclusiveMaximum",
		"properties", "patternProperties", "propertyNames", "additionalProperties", "required",
		"dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
		"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains":
		return true
	}
	return false
}
