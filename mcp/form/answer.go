package form

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

func encodeField(name string, value any) (json.RawMessage, error) {
	raw, err := json.Marshal(value)
	if err != nil || jsonscan.Valid(raw) != nil {
		return nil, &FieldError{name, "is no JSON value"}
	}
	return raw, nil
}

func (f *Field) wrong(format string, args ...any) error {
	return &FieldError{f.Name, fmt.Sprintf(format, args...)}
}

// check reports what is wrong with a value, which must be valid JSON.
func (f *Field) check(raw json.RawMessage) error {
	switch f.Type {
	case String:
		text, ok := jsonscan.String(raw)
		if !ok {
			return f.wrong("is not of type string")
		}
		return f.checkText(text)
	case Boolean:
		if raw[0] != 't' && raw[0] != 'f' {
			return f.wrong("is not of type boolean")
		}
	case Number, Integer:
		return f.checkNumber(raw)
	case Array:
		return f.checkList(raw)
	default:
		return f.wrong("is of unknown type")
	}
	return nil
}

func (f *Field) checkText(text string) error {
	if len(f.Choices) > 0 && !f.offers(text) {
		return f.wrong("is none of the choices")
	}
	if err := f.bounded(big.NewRat(int64(utf8.RuneCountInString(text)), 1), "is shorter than", "is longer than", "character"); err != nil {
		return err
	}
	if !f.formatted(text) {
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
func (f *Field) matches(text string) bool {
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

func (f *Field) offers(value string) bool {
	return slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Value == value })
}

// formatted reports whether a text is of the field's format.
func (f *Field) formatted(text string) bool {
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

func (f *Field) checkNumber(raw json.RawMessage) error {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return f.wrong("is not of type %s", f.Type)
	}
	n, ok := parseNumber(raw)
	switch {
	case !ok:
		return f.wrong("has too many digits")
	case f.Type == Integer && !n.IsInt():
		return f.wrong("is not of type integer")
	}
	return f.bounded(n, "is less than", "is more than", "")
}

// bounded reports that a number is beyond a bound, in these words.
func (f *Field) bounded(n *big.Rat, less, more, unit string) error {
	for _, bound := range []struct {
		at    *json.Number
		sign  int // of a number beyond it
		words string
	}{{f.Min, -1, less}, {f.Max, 1, more}} {
		if bound.at == nil {
			continue
		}
		if at, ok := parseNumber([]byte(*bound.at)); ok && n.Cmp(at) == bound.sign {
			return f.wrong("%s %s", bound.words, plural(*bound.at, unit))
		}
	}
	return nil
}

func (f *Field) checkList(raw json.RawMessage) error {
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
	return f.bounded(big.NewRat(int64(len(seen)), 1), "has fewer than", "has more than", "element")
}

func plural(n json.Number, unit string) string {
	switch {
	case unit == "":
		return n.String()
	case n == "1":
		return "1 " + unit
	}
	return n.String() + " " + unit + "s"
}

// Parse turns what a user typed into a value of the field: a string, a bool, a
// [json.Number] or a list of strings. It returns a [*FieldError] if the field
// does not allow it.
//
// A boolean is yes or no, true or false, on or off, 1 or 0, or the first letter
// of one of the words. A choice is its value, its title or, unless values or
// titles are numbers themselves, its number in Choices, counted from 1. The
// elements of a list stand between commas. Blanks around all but strings do not
// count, nor does case but in strings and values.
func (f *Field) Parse(text string) (any, error) {
	var value any
	var err error
	switch {
	case f.Type == Array:
		value, err = f.parseList(text)
	case len(f.Choices) > 0:
		value, err = f.choose(text)
	case f.Type == Boolean:
		value, err = f.parseBool(text)
	case f.Type == Number, f.Type == Integer:
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

func (f *Field) parseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y", "true", "t", "on", "1":
		return true, nil
	case "no", "n", "false", "f", "off", "0":
		return false, nil
	}
	return false, f.wrong("is neither yes nor no")
}

func (f *Field) parseList(text string) ([]string, error) {
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
func (f *Field) choose(text string) (string, error) {
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
