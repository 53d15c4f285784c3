package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// The errors of the following functions go on after the field's name.

func newField(name string, schema []byte) (*FormField, error) {
	if schema[0] != '{' {
		return nil, errors.New("has no schema")
	}
	f := &FormField{Name: name}
	var names []byte
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
		case "minLength":
			f.MinLength, err = fieldCount(key, value)
		case "maxLength":
			f.MaxLength, err = fieldCount(key, value)
		case "minItems":
			f.MinItems, err = fieldCount(key, value)
		case "maxItems":
			f.MaxItems, err = fieldCount(key, value)
		case "minimum":
			f.Minimum, err = fieldBound(key, value)
		case "maximum":
			f.Maximum, err = fieldBound(key, value)
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
	return f, f.settle()
}

// pick returns those of the choices found that count for the field's type.
func (f *FormField) pick(plain, titled, items []Choice) ([]Choice, error) {
	switch {
	case f.Type == FieldArray && (plain != nil || titled != nil):
		return nil, errors.New("has choices of whole lists")
	case f.Type == FieldArray:
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
func (f *FormField) settle() error {
	if f.Type == "" && len(f.Choices) > 0 {
		f.Type = FieldString
	}
	text, number, list := false, false, false
	switch f.Type {
	case FieldString:
		text = true
	case FieldNumber, FieldInteger:
		number = true
	case FieldArray:
		list = true
	case FieldBoolean:
	default:
		return errors.New("must have a simple type")
	}
	if !text && !list && len(f.Choices) > 0 {
		return errors.New("has choices, which only strings can have")
	}
	if !text {
		f.MinLength, f.MaxLength, f.Pattern, f.Format = nil, nil, "", ""
	}
	if !number {
		f.Minimum, f.Maximum = nil, nil
	}
	if !list {
		f.MinItems, f.MaxItems = nil, nil
	}
	f.Multiple = list && len(f.Choices) > 0
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

// fieldCount reads a bound of a length.
func fieldCount(key, value []byte) (*int, error) {
	n, ok := parseNumber(value)
	if !ok || !n.IsInt() || n.Sign() < 0 || n.Num().BitLen() > 31 {
		return nil, fmt.Errorf("has a %s that is no length", key)
	}
	count := int(n.Num().Int64())
	return &count, nil
}

func fieldBound(key, value []byte) (*json.Number, error) {
	if _, ok := parseNumber(value); !ok {
		return nil, fmt.Errorf("has a %s that is no number of a bearable size", key)
	}
	n := json.Number(value)
	return &n, nil
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

// plainChoices reads the choices of an enum.
func plainChoices(value []byte) ([]Choice, error) {
	var choices []Choice
	for element := range jsonscan.Elements(value) {
		text, ok := jsonscan.String(element)
		if !ok {
			return nil, errors.New("has a choice that is not a string")
		}
		choices = append(choices, Choice{Value: text, Title: text})
		if len(choices) > maxChoices {
			return nil, fmt.Errorf("has more than %d choices", maxChoices)
		}
	}
	if len(choices) == 0 {
		return nil, errNoChoices
	}
	return choices, nil
}

// titledChoices reads the choices of a oneOf or anyOf.
func titledChoices(key, value []byte) ([]Choice, error) {
	var choices []Choice
	for element := range jsonscan.Elements(value) {
		var c Choice
		given := false
		for name, part := range jsonscan.Fields(element) {
			var err error
			switch string(name) {
			case "const":
				c.Value, given = jsonscan.String(part)
			case "title":
				c.Title, err = fieldText(name, part)
			case "type":
				if string(part) != `"string"` {
					given = false
				}
			default:
				if asserts(string(name)) {
					given = false
				}
			}
			if err != nil {
				return nil, err
			}
		}
		if !given {
			return nil, fmt.Errorf("has a %s that is no list of choices", key)
		}
		if c.Title == "" {
			c.Title = c.Value
		}
		choices = append(choices, c)
		if len(choices) > maxChoices {
			return nil, fmt.Errorf("has more than %d choices", maxChoices)
		}
	}
	if len(choices) == 0 {
		return nil, errNoChoices
	}
	return choices, nil
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
		case "minLength", "maxLength", "pattern", "minimum", "maximum":
			err = fmt.Errorf("has the keyword %s in its items, which a form cannot have", key)
		default:
			if asserts(string(key)) {
				err = fmt.Errorf("has the keyword %s in its items, which a form cannot have", key)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return choices, nil
}
