package schemagate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxWithin is how deep a description goes into a schema.
	maxWithin = 4
	// maxBranches is how many alternatives are described.
	maxBranches = 4
)

const anyValue = "any value"

// describe says what values a schema wants, as briefly as can be: "an integer
// from 1 to 100". It leaves out much.
func describe(s *jsonschema.Schema) string { return shortenWords(within(s, maxWithin)) }

func within(s *jsonschema.Schema, depth int) string {
	switch {
	case s == nil || depth == 0 || s.Bool != nil && *s.Bool:
		return anyValue
	case s.Bool != nil:
		return "nothing"
	case s.Const != nil:
		return short(*s.Const)
	case s.Enum != nil && len(s.Enum.Values) == 1:
		return short(s.Enum.Values[0])
	case s.Enum != nil:
		return "one of " + choices(s.Enum.Values)
	}
	if s.Types == nil || s.Types.IsEmpty() {
		return withoutType(s, depth)
	}
	names := s.Types.ToStrings()
	if names[0] == "null" {
		names = append(names[1:], "null")
	}
	for i, name := range names {
		names[i] = ofType(s, name, depth)
	}
	return strings.Join(names, " or ")
}

// withoutType describes a schema that does not name a type.
func withoutType(s *jsonschema.Schema, depth int) string {
	for _, sub := range append([]*jsonschema.Schema{s.Ref}, s.AllOf...) {
		if text := within(sub, depth-1); text != anyValue {
			return text
		}
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if text := anyOf(branches, depth-1); text != anyValue {
			return text
		}
	}
	switch {
	case s.Pattern != nil || s.MinLength != nil || s.MaxLength != nil || s.Format != nil:
		return ofType(s, "string", depth)
	case s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil:
		return ofType(s, "number", depth)
	case len(s.Required) > 0 || s.MinProperties != nil || s.MaxProperties != nil || s.Properties != nil || s.AdditionalProperties != nil:
		return ofType(s, "object", depth)
	case s.MinItems != nil || s.MaxItems != nil || s.UniqueItems || s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil:
		return ofType(s, "array", depth)
	}
	return anyValue
}

// anyOf describes alternatives, null last.
func anyOf(branches []*jsonschema.Schema, depth int) string {
	var all []string
	nullable := false
	for _, s := range branches {
		text := within(s, depth)
		switch {
		case text == "null":
			nullable = true
		case !slices.Contains(all, text):
			all = append(all, text)
		}
	}
	if len(all) > maxBranches {
		all = append(all[:maxBranches], "one of others")
	}
	if nullable {
		all = append(all, "null")
	}
	if len(all) == 0 || slices.Contains(all, anyValue) {
		return anyValue
	}
	return strings.Join(all, " or ")
}

func ofType(s *jsonschema.Schema, name string, depth int) string {
	switch name {
	case "integer", "number":
		return plain.Article(name) + numeric(s)
	case "string":
		text := "a string" + extent(s.MinLength, s.MaxLength, "characters")
		if s.Format != nil {
			text += " of format " + quote(s.Format.Name)
		}
		if s.Pattern != nil {
			text += " that matches " + quote(s.Pattern.String())
		}
		return text
	case "array":
		of := elements(s, depth)
		if s.MinItems != nil || s.MaxItems != nil {
			return "an array" + extent(s.MinItems, s.MaxItems, cmp.Or(of, "elements"))
		}
		return strings.TrimSuffix("an array of "+of, " of ")
	case "object":
		text := "an object"
		if len(s.Required) > 0 {
			text += " with " + listed(s.Required, " and ")
		}
		return text + extent(s.MinProperties, s.MaxProperties, "members")
	}
	return plain.Article(name)
}

// elements names the elements of an array.
func elements(s *jsonschema.Schema, depth int) string {
	for _, item := range []*jsonschema.Schema{s.Items2020, one(s.Items)} {
		if item == nil || depth <= 1 {
			continue
		}
		switch text := within(item, depth-1); text {
		case "a string", "a number", "a boolean", "an integer", "an object", "an array":
			_, name, _ := strings.Cut(text, " ")
			return name + "s"
		}
	}
	return ""
}

// extent says how many there may be of something.
func extent(least, most *int, many string) string {
	switch {
	case least == nil && most == nil:
		return ""
	case most == nil:
		return " of at least " + count(*least, many)
	case least == nil:
		return " of at most " + count(*most, many)
	}
	return fmt.Sprintf(" of %d to %d %s", *least, *most, many)
}

func count(n int, many string) string { return plain.Number(n, strings.TrimSuffix(many, "s")) }

// numeric says in which range a number is.
func numeric(s *jsonschema.Schema) string {
	var text string
	if s.MultipleOf != nil {
		text = " that is a multiple of " + number(s.MultipleOf)
	}
	if s.Minimum != nil && s.Maximum != nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil {
		return " from " + number(s.Minimum) + " to " + number(s.Maximum) + text
	}
	var bounds []string
	for _, bound := range []struct {
		limit *big.Rat
		words string
	}{
		{s.Minimum, "of at least "}, {s.ExclusiveMinimum, "greater than "}, {s.Maximum, "of at most "}, {s.ExclusiveMaximum, "less than "},
	} {
		if bound.limit != nil {
			bounds = append(bounds, bound.words+number(bound.limit))
		}
	}
	if len(bounds) == 0 {
		return text
	}
	return " " + strings.Join(bounds, " and ") + text
}

// listed lists names, with a word before the last.
func listed(names []string, last string) string {
	const most = 6
	var all []string
	for _, name := range names[:min(len(names), most)] {
		all = append(all, quote(name))
	}
	if len(names) > most {
		all = append(all, fmt.Sprintf("%d more", len(names)-most))
	}
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + last + all[len(all)-1]
}

// shortenWords cuts words that hold parts of a schema, which are safe already.
func shortenWords(text string) string { return plain.Cut(text, 2*maxText) }

// kindOf names the kind of a value, and nothing of its content.
func kindOf(value any) string { return plain.Article(kindsOfValue(value).name()) }

// choices writes values of the schema.
func choices(values []any) string {
	var out strings.Builder
	for i, value := range values {
		if i > 0 {
			out.WriteString(", ")
		}
		if out.Len() > maxText {
			return out.String() + "..."
		}
		out.WriteString(short(value))
	}
	return out.String()
}

func short(value any) string {
	switch value := value.(type) {
	case string:
		return quote(value)
	case json.Number:
		return shorten(string(value))
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	}
	return kindOf(value)
}

func number(n *big.Rat) string {
	text := n.FloatString(6)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return shorten(text)
}
