package mcp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Parse turns what a user typed into a value of the field: a string, a bool, a
// [json.Number] or a list of strings. It returns a [*FieldError] if the field
// does not allow it.
//
// A boolean is yes or no, true or false, on or off, 1 or 0, or the first letter
// of one of the words. A choice is its value, its title or, unless values or
// titles are numbers themselves, its number in Choices, counted from 1. The
// elements of a list stand between commas. Blanks around all but strings do not
// count, nor does case but in strings and values.
func (f *FormField) Parse(text string) (any, error) {
	var value any
	var err error
	switch {
	case f.Type == FieldArray:
		value, err = f.parseList(text)
	case len(f.Choices) > 0:
		value, err = f.choose(text)
	case f.Type == FieldBoolean:
		value, err = f.parseBool(text)
	case f.Type == FieldNumber, f.Type == FieldInteger:
		number := strings.TrimPrefix(strings.TrimSpace(text), "+")
		if jsonscan.Valid([]byte(number)) != nil {
			return nil, f.wrong("is not of type %s", f.Type)
		}
		value = json.Number(number)
		if err := f.checkNumber([]byte(number)); err != nil {
			return nil, err // the encoder would be the first to complain
		}
	default:
		value = text
	}
	if err != nil {
		return nil, err
	}
	raw, err := encodeField(f.Name, value)
	if err != nil {
		return nil, err
	}
	if err := f.check(raw); err != nil {
		return nil, err
	}
	return value, nil
}

func (f *FormField) parseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y", "true", "t", "on", "1":
		return true, nil
	case "no", "n", "false", "f", "off", "0":
		return false, nil
	}
	return false, f.wrong("is neither yes nor no")
}

func (f *FormField) parseList(text string) ([]string, error) {
	list := []string{}
	if strings.TrimSpace(text) == "" {
		return list, nil
	}
	if len(f.Choices) > 0 {
		if value, err := f.choose(text); err == nil { // it may have commas itself
			return append(list, value), nil
		}
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if len(f.Choices) > 0 {
			value, err := f.choose(part)
			if err != nil {
				return nil, f.wrong("has an element that is none of the choices")
			}
			part = value
		}
		list = append(list, part)
	}
	return list, nil
}

// choose finds the choice that a text means.
func (f *FormField) choose(text string) (string, error) {
	if f.offers(text) {
		return text, nil
	}
	text = strings.TrimSpace(text)
	if f.offers(text) {
		return text, nil
	}
	found, matches := "", 0
	numbered := true
	for _, c := range f.Choices {
		if strings.EqualFold(c.Title, text) {
			found = c.Value
			matches++
		}
		numbered = numbered && !isCount(c.Value) && !isCount(c.Title)
	}
	if matches == 1 {
		return found, nil
	}
	if n, err := strconv.Atoi(text); err == nil && numbered && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1].Value, nil
	}
	return "", f.wrong("is none of the choices")
}

func isCount(text string) bool {
	_, err := strconv.Atoi(strings.TrimSpace(text))
	return err == nil
}
