package form

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Types of a [Field].
const (
	String  = "string"
	Number  = "number"
	Integer = "integer"
	Boolean = "boolean"
	// Array is a list of strings without repetitions: several of the field's
	// choices or, from servers that go beyond the protocol, any strings.
	Array = "array"
)

// A Field is one field of a form in an elicitation. All texts are those of the
// server, which is not trusted: set them off from the program's own, and show no
// control characters. A Field must not be changed.
type Field struct {
	// Name is the field's name in the answer. It is up to 256 bytes long.
	Name string `json:"name"`
	// Title is what to call the field. It may be empty.
	Title string `json:"title,omitempty"`
	// Description says what is wanted. It may be empty.
	Description string `json:"description,omitempty"`
	// Type is the JSON type of the value: [String], [Number],
	// [Integer], [Boolean] or [Array].
	Type string `json:"type"`
	// Required says that the answer must have the field.
	Required bool `json:"required,omitempty"`
	// Default is the value of a field that is left out; nil if there is none. One
	// that the field itself does not allow has been dropped.
	Default json.RawMessage `json:"default,omitempty"`
	// Choices are the values to choose from, up to 1,000, in the server's order: one or, of an
	// [Array], several. Without any the value is free.
	Choices []Choice `json:"choices,omitempty"`
	// Min and Max are the least and the greatest number, however large, how many characters
	// a string must and can have, or how many elements a list. Nil means no bound.
	Min *json.Number `json:"min,omitempty"`
	// Max is as Min.
	Max *json.Number `json:"max,omitempty"`
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

// A Choice is one of the values to choose from in a [Field].
type Choice struct {
	// Value is what stands in the answer.
	Value string `json:"value"`
	// Title is what to show. It is Value if the server gave no title.
	Title string `json:"title"`
}

// Label returns what to call the field: its title or, without one, its name.
func (f *Field) Label() string {
	return cmp.Or(f.Title, f.Name)
}

// The errors of the following functions go on after the field's name.

func newField(name string, schema []byte) (*Field, error) {
	if schema[0] != '{' {
		return nil, errors.New("has no schema")
	}
	f := &Field{Name: name}
	var names []byte
	bounds := map[string]*json.Number{}
	var plain, titled, items []Choice
	var err error
	for key, value := range jsonscan.Fields(schema) {
		switch string(key) {
		case "type":
			f.Type, _ = jsonscan.String(value)
		case "title":
			f.Title, err = fieldText(key, value)
		case "description":
			f.Description, err = fieldText(key, value)
		case "default":
			f.Default = value
		case "enum":
			plain, err = plainChoices(value)
		case "oneOf":
			titled, err = titledChoices(key, value)
		case "enumNames":
			names = value
		case "items":
			items, err = itemChoices(value)
		case "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum":
			bounds[string(key)], err = fieldBound(key, value)
		case "pattern":
			f.Pattern, err = fieldText(key, value)
			if len(f.Pattern) > maxPattern {
				err = fmt.Errorf("has a pattern longer than %d bytes", maxPattern)
			}
		case "format":
			f.Format, err = fieldText(key, value)
		case "$ref":
			err = errors.New("must have a simple type, not a $ref")
		default:
			if asserts(string(key)) {
				err = fmt.Errorf("has the keyword %s, which a form cannot have", key)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	entitle(plain, names)
	if f.Choices, err = f.pick(plain, titled, items); err != nil {
		return nil, err
	}
	return f, f.settle(bounds)
}

// pick returns those of the choices found that count for the field's type.
func (f *Field) pick(plain, titled, items []Choice) ([]Choice, error) {
	switch {
	case f.Type == Array && (plain != nil || titled != nil):
		return nil, errors.New("has choices of whole lists")
	case f.Type == Array:
		return items, nil
	case titled == nil:
		return plain, nil
	case plain == nil:
		return titled, nil
	}
	allowed := make(map[string]bool, len(plain))
	for _, c := range plain {
		allowed[c.Value] = true
	}
	both := slices.DeleteFunc(titled, func(c Choice) bool { return !allowed[c.Value] })
	if len(both) == 0 {
		return nil, errNoChoices
	}
	return both, nil
}

// settle finishes a field whose schema was read: nothing is left that does not
// belong to its type.
func (f *Field) settle(bounds map[string]*json.Number) error {
	if f.Type == "" && len(f.Choices) > 0 {
		f.Type = String
	}
	unit := "" // of what bounds the values
	switch f.Type {
	case String:
		unit = "Length"
	case Number, Integer:
		unit = "imum"
	case Array:
		unit = "Items"
	case Boolean:
	default:
		return errors.New("must have a simple type")
	}
	f.Min, f.Max = bounds["min"+unit], bounds["max"+unit]
	if f.Type != String {
		f.Pattern, f.Format = "", ""
		if f.Type != Array && len(f.Choices) > 0 {
			return errors.New("has choices, which only strings can have")
		}
	}
	seen := make(map[string]bool, len(f.Choices))
	for _, c := range f.Choices {
		if seen[c.Value] {
			return errors.New("has the same choice twice")
		}
		seen[c.Value] = true
	}
	if f.Default != nil {
		f.Default = bytes.Clone(f.Default)
		if f.check(f.Default) != nil {
			f.Default = nil
		}
	}
	f.Secret = f.asksForSecret()
	return nil
}

func fieldText(key, value []byte) (string, error) {
	text, ok := jsonscan.String(value)
	if !ok && string(value) != "null" {
		return "", fmt.Errorf("has a %s that is not a string", key)
	}
	return text, nil
}

// fieldBound reads a bound of a number or a length.
func fieldBound(key, value []byte) (*json.Number, error) {
	n, ok := parseNumber(value)
	isLength := !bytes.HasSuffix(key, []byte("imum"))
	switch {
	case isLength && (!ok || !n.IsInt() || n.Sign() < 0 || n.Num().BitLen() > 31):
		return nil, fmt.Errorf("has a %s that is no length", key)
	case !ok:
		return nil, fmt.Errorf("has a %s that is no number of a bearable size", key)
	}
	bound := json.Number(value)
	if isLength {
		bound = json.Number(n.Num().String()) // it may have been 1e1
	}
	return &bound, nil
}

// parseNumber reads a JSON number exactly, unless that would take much memory.
func parseNumber(value []byte) (*big.Rat, bool) {
	if len(value) == 0 || len(value) > maxFieldNumber || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return nil, false
	}
	if i := bytes.IndexAny(value, "eE"); i >= 0 {
		exponent, ok := new(big.Int).SetString(string(value[i+1:]), 10)
		if !ok || exponent.CmpAbs(big.NewInt(maxFieldNumber)) > 0 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(value))
}

var errNoChoices = errors.New("has no choices to choose from")

// entitle gives choices the titles of an older form of the protocol.
func entitle(choices []Choice, names []byte) {
	i := 0
	for value := range jsonscan.Elements(names) {
		if title, ok := jsonscan.String(value); ok && title != "" && i < len(choices) {
			choices[i].Title = title
		}
		i++
	}
}

// readChoices reads the choices of a list.
func readChoices(list []byte, read func(element []byte) (Choice, error)) (choices []Choice, err error) {
	for element := range jsonscan.Elements(list) {
		c, err := read(element)
		if err != nil {
			return nil, err
		}
		if len(choices) == maxChoices {
			return nil, fmt.Errorf("has more than %d choices", maxChoices)
		}
		choices = append(choices, c)
	}
	if len(choices) == 0 {
		return nil, errNoChoices
	}
	return choices, nil
}

// plainChoices reads the choices of an enum.
func plainChoices(list []byte) ([]Choice, error) {
	return readChoices(list, func(element []byte) (Choice, error) {
		text, ok := jsonscan.String(element)
		if !ok {
			return Choice{}, errors.New("has a choice that is not a string")
		}
		return Choice{Value: text, Title: text}, nil
	})
}

// titledChoices reads the choices of a oneOf or anyOf.
func titledChoices(key, list []byte) ([]Choice, error) {
	return readChoices(list, func(element []byte) (c Choice, err error) {
		given, more := false, false
		for name, part := range jsonscan.Fields(element) {
			switch string(name) {
			case "const":
				c.Value, given = jsonscan.String(part)
			case "title":
				if c.Title, err = fieldText(name, part); err != nil {
					return c, err
				}
			case "type":
				more = more || string(part) != `"string"`
			default:
				more = more || asserts(string(name))
			}
		}
		if !given || more {
			return c, fmt.Errorf("has a %s that is no list of choices", key)
		}
		c.Title = cmp.Or(c.Title, c.Value)
		return c, nil
	})
}

// itemChoices reads the schema of a list's elements.
func itemChoices(value []byte) (choices []Choice, err error) {
	if value[0] != '{' {
		return nil, errors.New("must be a list of strings")
	}
	for key, part := range jsonscan.Fields(value) {
		switch string(key) {
		case "type":
			if string(part) != `"string"` {
				err = errors.New("must be a list of strings")
			}
		case "enum":
			choices, err = plainChoices(part)
		case "anyOf", "oneOf":
			choices, err = titledChoices(key, part)
		default:
			if asserts(string(key), "minLength", "maxLength", "pattern", "minimum", "maximum") {
				err = fmt.Errorf("has the keyword %s in its items, which a form cannot have", key)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return choices, nil
}
