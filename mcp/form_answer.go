package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// A FieldError reports what is wrong with a field of an answer to a form. Its
// text never has the value: it can be shown to the server.
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

// Unwrap makes the error one that the server may see.
func (e *FieldError) Unwrap() error { return refusal(e.Error()) }

// Fill returns content as it will be sent if it is accepted: with the defaults
// of the fields that it leaves out, and without those whose value is nil, which
// are left out on purpose. It returns a [*FieldError] if the form does not allow
// the content. A form that does not say that it has no other fields keeps those.
//
// The client does the same with what a handler returns. A handler that asks
// again needs to know before.
func (r *ElicitRequest) Fill(content map[string]any) (map[string]any, error) {
	var schema json.RawMessage
	if r.Params != nil && r.Params.RequestedSchema != nil {
		raw, err := json.Marshal(r.Params.RequestedSchema)
		if err == nil {
			err = jsonscan.Valid(raw)
		}
		if err != nil {
			return nil, refused("requestedSchema is not JSON")
		}
		schema = raw
	}
	f, err := newForm(schema)
	if err != nil {
		return nil, err
	}
	return f.fill(content)
}

// fill returns content with the defaults of what it leaves out, and fails if a
// value is missing or not allowed. Values are JSON then.
func (f *form) fill(content map[string]any) (map[string]any, error) {
	filled := make(map[string]any, len(content))
	for i := range f.fields {
		field := &f.fields[i]
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
		known := slices.ContainsFunc(f.fields, func(field FormField) bool { return field.Name == name })
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

func encodeField(name string, value any) (json.RawMessage, error) {
	raw, err := json.Marshal(value)
	if err != nil || jsonscan.Valid(raw) != nil {
		return nil, &FieldError{name, "is no JSON value"}
	}
	return raw, nil
}

func (f *FormField) wrong(format string, args ...any) error {
	return &FieldError{f.Name, fmt.Sprintf(format, args...)}
}

// check reports what is wrong with a value, which must be valid JSON.
func (f *FormField) check(raw json.RawMessage) error {
	switch f.Type {
	case FieldString:
		text, ok := jsonscan.String(raw)
		if !ok {
			return f.wrong("is not of type string")
		}
		return f.checkText(text)
	case FieldBoolean:
		if raw[0] != 't' && raw[0] != 'f' {
			return f.wrong("is not of type boolean")
		}
	case FieldNumber, FieldInteger:
		return f.checkNumber(raw)
	case FieldArray:
		return f.checkList(raw)
	default:
		return f.wrong("is of unknown type")
	}
	return nil
}

func (f *FormField) checkText(text string) error {
	if len(f.Choices) > 0 && !f.offers(text) {
		return f.wrong("is none of the choices")
	}
	n := utf8.RuneCountInString(text)
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		return f.wrong("is shorter than %s", plural(*f.MinLength, "character"))
	case f.MaxLength != nil && n > *f.MaxLength:
		return f.wrong("is longer than %s", plural(*f.MaxLength, "character"))
	case !f.formatted(text):
		return f.wrong("is not of format %s", f.Format)
	}
	if !f.matches(text) {
		return f.wrong("does not match the pattern %s", f.Pattern)
	}
	return nil
}

// matches reports whether a text matches the field's pattern. Where that would
// take long, nothing here says no: the pattern is the server's, and a short one
// can stand for a very large one.
func (f *FormField) matches(text string) bool {
	if f.Pattern == "" {
		return true
	}
	size, err := schemagate.PatternSize(f.Pattern)
	if err != nil || size*(len(text)+minPatternText) > maxPatternSteps {
		return true
	}
	pattern, err := regexp.Compile(f.Pattern)
	return err != nil || pattern.MatchString(text)
}

func (f *FormField) offers(value string) bool {
	return slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Value == value })
}

// formatted reports whether a text is of the field's format.
func (f *FormField) formatted(text string) bool {
	switch f.Format {
	case "email":
		if len(text) > maxEmail {
			return false
		}
		addr, err := mail.ParseAddress(text)
		return err == nil && addr.Name == "" && addr.Address == text
	case "uri":
		u, err := url.Parse(text)
		return err == nil && u.IsAbs() && (u.Host != "" || u.Opaque != "" || u.Path != "") && !strings.ContainsAny(text, " \"<>\\^`{|}")
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	}
	return true
}

func (f *FormField) checkNumber(raw json.RawMessage) error {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return f.wrong("is not of type %s", f.Type)
	}
	n, ok := parseNumber(raw)
	switch {
	case !ok:
		return f.wrong("has too many digits")
	case f.Type == FieldInteger && !n.IsInt():
		return f.wrong("is not of type integer")
	}
	if f.Minimum != nil {
		if low, ok := parseNumber([]byte(*f.Minimum)); ok && n.Cmp(low) < 0 {
			return f.wrong("is less than %s", *f.Minimum)
		}
	}
	if f.Maximum != nil {
		if high, ok := parseNumber([]byte(*f.Maximum)); ok && n.Cmp(high) > 0 {
			return f.wrong("is more than %s", *f.Maximum)
		}
	}
	return nil
}

func (f *FormField) checkList(raw json.RawMessage) error {
	if raw[0] != '[' {
		return f.wrong("is not of type array")
	}
	seen := map[string]bool{}
	for element := range jsonscan.Elements(raw) {
		text, ok := jsonscan.String(element)
		switch {
		case !ok:
			return f.wrong("has an element that is not of type string")
		case len(f.Choices) > 0 && !f.offers(text):
			return f.wrong("has an element that is none of the choices")
		case seen[text]:
			return f.wrong("has an element twice")
		}
		seen[text] = true
	}
	switch {
	case f.MinItems != nil && len(seen) < *f.MinItems:
		return f.wrong("has fewer than %s", plural(*f.MinItems, "element"))
	case f.MaxItems != nil && len(seen) > *f.MaxItems:
		return f.wrong("has more than %s", plural(*f.MaxItems, "element"))
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
