package schemagate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// firstOf returns the violation that tells most: of those that stand by
// themselves the first in the value. Of alternatives it is that of the one which
// fits farthest, or that none of them fits.
func firstOf(err *jsonschema.ValidationError) *ValueError {
	leaf := first(err)
	want, got := words(leaf.ErrorKind)
	var path strings.Builder
	for _, token := range leaf.InstanceLocation {
		path.WriteString(join("", token))
	}
	return &ValueError{shorten(path.String()), want, got}
}

func first(err *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(err.Causes) == 0 {
		return err
	}
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf:
		return farthest(err)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return farthest(err)
		}
		return err
	case *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		return err
	}
	best := first(err.Causes[0])
	for _, cause := range err.Causes[1:] {
		if other := first(cause); compare(other, best) < 0 {
			best = other
		}
	}
	return best
}

// farthest returns what is wrong with the alternative that fits farthest, if
// there is one that fits farther than to its own beginning and all others.
func farthest(err *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(err.Causes) == 1 {
		return first(err.Causes[0])
	}
	best, depth, alone := err, len(err.InstanceLocation), true
	for _, cause := range err.Causes {
		leaf := first(cause)
		switch n := len(leaf.InstanceLocation); {
		case n > depth:
			best, depth, alone = leaf, n, true
		case n == depth:
			alone = false
		}
	}
	if !alone {
		return err
	}
	return best
}

// compare orders violations by their place, and by their words.
func compare(a, b *jsonschema.ValidationError) int {
	for i := range min(len(a.InstanceLocation), len(b.InstanceLocation)) {
		x, y := a.InstanceLocation[i], b.InstanceLocation[i]
		m, errX := strconv.Atoi(x)
		n, errY := strconv.Atoi(y)
		if errX == nil && errY == nil && m != n {
			return cmp.Compare(m, n)
		}
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	if d := cmp.Compare(len(a.InstanceLocation), len(b.InstanceLocation)); d != 0 {
		return d
	}
	wantA, _ := words(a.ErrorKind)
	wantB, _ := words(b.ErrorKind)
	return cmp.Compare(wantA, wantB)
}

// words says in plain words what is wanted and what is there.
func words(k jsonschema.ErrorKind) (want, got string) {
	switch k := k.(type) {
	case *kind.Type:
		return oneOf(k.Want), article(k.Got)
	case *kind.Enum:
		return "one of " + choices(k.Want), kindOf(k.Got) + " that is none of them"
	case *kind.Const:
		return short(k.Want), kindOf(k.Got) + " that is not equal"
	case *kind.Format:
		return "a string of format " + quote(k.Want), kindOf(k.Got) + " that is not"
	case *kind.Required:
		return "the member " + quote(least(k.Missing)), "none of this name"
	case *kind.Dependency:
		return fmt.Sprintf("the member %s beside %s", quote(least(k.Missing)), quote(k.Prop)), "none of this name"
	case *kind.DependentRequired:
		return fmt.Sprintf("the member %s beside %s", quote(least(k.Missing)), quote(k.Prop)), "none of this name"
	case *kind.AdditionalProperties:
		return "no further members", "a member that the schema does not name"
	case *kind.PropertyNames:
		return "member names that fit", "one that does not"
	case *kind.FalseSchema:
		return "no value here", "one"
	case *kind.MinProperties:
		return atLeast(k.Want, "members"), strconv.Itoa(k.Got)
	case *kind.MaxProperties:
		return atMost(k.Want, "members"), strconv.Itoa(k.Got)
	case *kind.MinItems:
		return atLeast(k.Want, "elements"), strconv.Itoa(k.Got)
	case *kind.MaxItems:
		return atMost(k.Want, "elements"), strconv.Itoa(k.Got)
	case *kind.AdditionalItems:
		return "no further elements", fmt.Sprintf("%d more", k.Count)
	case *kind.UniqueItems:
		return "elements that differ", fmt.Sprintf("equal ones at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "an element that fits", "none"
	case *kind.MinContains:
		return atLeast(k.Want, "elements that fit"), strconv.Itoa(len(k.Got))
	case *kind.MaxContains:
		return atMost(k.Want, "elements that fit"), strconv.Itoa(len(k.Got))
	case *kind.MinLength:
		return atLeast(k.Want, "characters"), strconv.Itoa(k.Got)
	case *kind.MaxLength:
		return atMost(k.Want, "characters"), strconv.Itoa(k.Got)
	case *kind.Pattern:
		return "a string that matches " + quote(k.Want), "one that does not"
	case *kind.Minimum:
		return "a number not less than " + number(k.Want), "a smaller one"
	case *kind.Maximum:
		return "a number not greater than " + number(k.Want), "a greater one"
	case *kind.ExclusiveMinimum:
		return "a number greater than " + number(k.Want), "one that is not"
	case *kind.ExclusiveMaximum:
		return "a number less than " + number(k.Want), "one that is not"
	case *kind.MultipleOf:
		return "a multiple of " + number(k.Want), "a number that is none"
	case *kind.AnyOf:
		return "a value that fits one of the alternatives", "one that fits none"
	case *kind.OneOf:
		if k.Subschemas == nil {
			return "a value that fits one of the alternatives", "one that fits none"
		}
		return "a value that fits only one of the alternatives", "one that fits several"
	case *kind.Not:
		return "a value that the schema does not exclude", "one that it does"
	}
	return "a value that fits the schema", "one that does not"
}

func oneOf(kinds []string) string {
	var each []string
	for _, kind := range kinds {
		each = append(each, article(kind))
	}
	return strings.Join(each, " or ")
}

func article(kind string) string {
	switch kind {
	case "null":
		return "null"
	case "array", "integer", "object":
		return "an " + kind
	}
	return "a " + kind
}

// kindOf names the kind of a value, and nothing of its content.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

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

// least returns the first name in order, for the validator's order changes.
func least(names []string) string {
	name := names[0]
	for _, other := range names[1:] {
		name = min(name, other)
	}
	return name
}

func number(n *big.Rat) string {
	text := n.FloatString(6)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return shorten(text)
}

func atLeast(n int, what string) string { return fmt.Sprintf("at least %d %s", n, what) }
func atMost(n int, what string) string  { return fmt.Sprintf("at most %d %s", n, what) }
