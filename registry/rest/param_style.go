package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// The styles: two of OpenAPI 3.1, section 4.8.12, and one more.
const (
	styleSimple = "simple"
	styleForm   = "form"
	styleJSON   = "json"
	styleField  = "" // only of a field of a form: as form, but objects are JSON text
)

// A field is what a value becomes where there are names and values: the parts of
// one value, to be joined by commas.
type field struct {
	name   string
	parts  []string
	joined bool // from a list, of whatever length
}

// fields returns what a value becomes in a query, a cookie or a form.
func (p *parameter) fields(raw []byte) ([]field, *registry.Problem) {
	if p.style == styleJSON && raw[0] != 'n' || p.style == styleField && raw[0] == '{' {
		return []field{{p.Name, []string{string(compact(raw))}, false}}, nil
	}
	f, problem := flatten(raw, p.path())
	if problem != nil {
		return nil, problem
	}
	switch {
	case f.shape == nothing:
		return nil, nil
	case f.shape == single:
		return []field{{p.Name, []string{f.text}, false}}, nil
	case f.shape == sequence && p.explode:
		fields := make([]field, len(f.items))
		for i, item := range f.items {
			fields[i] = field{p.Name, []string{item}, false}
		}
		return fields, nil
	case f.shape == record && p.explode:
		fields := make([]field, len(f.members))
		for i, m := range f.members {
			if problem := p.knows(m.name); problem != nil {
				return nil, problem
			}
			fields[i] = field{m.name, []string{m.value}, false}
		}
		return fields, nil
	case f.shape == record:
		f.items = alternating(f.members)
	}
	return []field{{p.Name, f.items, true}}, nil
}

// knows refuses the member of an object that becomes a parameter of its own, if the
// schema does not name it.
func (p *parameter) knows(member string) *registry.Problem {
	if p.members[member] {
		return nil
	}
	return &registry.Problem{Path: schemagate.Member(p.path(), member), Got: "a member", Hint: "only members that the schema names can be sent"}
}

// queryPairs returns what a value becomes in a query, escaped but for the commas
// between elements.
func (p *parameter) queryPairs(raw []byte) ([]pair, *registry.Problem) {
	fields, problem := p.fields(raw)
	if problem != nil {
		return nil, problem
	}
	pairs := make([]pair, len(fields))
	for i, f := range fields {
		pairs[i] = pair{escape(f.name), joinEscaped(f.parts, ",")}
	}
	return pairs, nil
}

// cookiePairs returns what a value becomes among cookies, escaped. A comma cannot
// stand there (RFC 6265, section 4.1.1), so it is escaped, too.
func (p *parameter) cookiePairs(raw []byte) ([]pair, *registry.Problem) {
	return p.pairs(raw, func(f field) string { return joinEscaped(f.parts, "%2C") })
}

// formPairs returns what a value becomes in a form, not escaped.
func (p *parameter) formPairs(raw []byte) ([]pair, *registry.Problem) {
	return p.pairs(raw, func(f field) string { return strings.Join(f.parts, ",") })
}

// pairs returns the fields of a value as pairs, each with its parts joined.
func (p *parameter) pairs(raw []byte, join func(field) string) ([]pair, *registry.Problem) {
	fields, problem := p.fields(raw)
	if problem != nil {
		return nil, problem
	}
	pairs := make([]pair, len(fields))
	for i, f := range fields {
		if f.joined {
			if problem := p.free(f.parts, ','); problem != nil {
				return nil, problem
			}
		}
		pairs[i] = pair{f.name, join(f)}
	}
	return pairs, nil
}

// free refuses elements with a delimiter in them, which cannot be told from two elements.
func (p *parameter) free(parts []string, delims ...byte) *registry.Problem {
	for _, part := range parts {
		for _, delim := range delims {
			if strings.IndexByte(part, delim) >= 0 {
				sign := string(rune(delim))
				return &registry.Problem{
					Path: p.path(), Want: "made of texts without " + plain.Quote(sign), Got: "one with it",
					Hint: "that sign stands between the elements of this parameter",
				}
			}
		}
	}
	return nil
}

// headerValue returns what a value becomes in a header; ok is false if it is left
// out.
func (p *parameter) headerValue(raw []byte) (value string, ok bool, problem *registry.Problem) {
	if p.style == styleJSON {
		if value, ok = string(compact(raw)), raw[0] != 'n'; raw[0] == '"' {
			value = string(raw)
		}
		return value, ok, p.checkHeader(value)
	}
	f, problem := flatten(raw, p.path())
	if problem != nil {
		return "", false, problem
	}
	switch f.shape {
	case nothing:
		return "", false, nil
	case single:
		return f.text, true, p.checkHeader(f.text)
	case record:
		f.items = alternating(f.members)
		if p.explode {
			if problem := p.free(f.items, ',', '='); problem != nil {
				return "", false, problem
			}
			f.items = assigned(f.members)
		}
	}
	for _, item := range f.items {
		if item == "" || strings.Trim(item, " \t") != item {
			return "", false, &registry.Problem{Path: p.path(), Want: "made of texts without blanks at their ends", Got: "one that has them, or is empty"}
		}
	}
	value = strings.Join(f.items, ",")
	if problem := p.free(f.items, ','); problem != nil {
		return "", false, problem
	}
	return value, true, p.checkHeader(value)
}

// checkHeader refuses what a header cannot hold, or would not bring over as it is.
func (p *parameter) checkHeader(value string) *registry.Problem {
	switch {
	case len(value) > maxHeader:
		return &registry.Problem{Path: p.path(), Want: "at most 8 KiB long", Got: "longer"}
	case !httpfield.ValidValue(value):
		return &registry.Problem{Path: p.path(), Want: "without control characters", Got: "a text with some", Hint: "it becomes a header, which is one line"}
	case strings.Trim(value, " \t") != value:
		return &registry.Problem{Path: p.path(), Want: "without blanks at its ends", Got: "a text with some", Hint: "it becomes a header, which loses them"}
	}
	return nil
}

// pathValue returns what a value becomes in a segment of the path, escaped.
func (p *parameter) pathValue(raw []byte) (string, *registry.Problem) {
	if p.style == styleJSON {
		return escape(string(compact(raw))), p.checkPath(string(compact(raw)))
	}
	f, problem := flatten(raw, p.path())
	if problem != nil {
		return "", problem
	}
	switch f.shape {
	case nothing:
		return "", p.empty(raw)
	case single:
		if f.text == "" {
			return "", p.empty(raw)
		}
		return escape(f.text), p.checkPath(f.text)
	case record:
		if !p.explode {
			f.items = alternating(f.members)
			break
		}
		pairs := make([]string, len(f.members))
		for i, m := range f.members {
			if problem := p.checkPath(m.name + m.value); problem != nil {
				return "", problem
			}
			pairs[i] = escape(m.name) + "=" + escape(m.value)
		}
		return strings.Join(pairs, ","), nil
	}
	for _, item := range f.items {
		if problem := p.checkPath(item); problem != nil {
			return "", problem
		}
	}
	return joinEscaped(f.items, ","), nil
}

func (p *parameter) checkPath(text string) *registry.Problem {
	if !httpfield.ValidValue(text) || strings.IndexByte(text, '\t') >= 0 {
		return &registry.Problem{Path: p.path(), Want: "without control characters", Got: "a text with some", Hint: "it becomes a part of the path"}
	}
	return nil
}

func (p *parameter) empty(raw []byte) *registry.Problem {
	got := "an empty one"
	if raw[0] == 'n' {
		got = "null"
	}
	return &registry.Problem{Path: p.path(), Want: "a value", Got: got, Hint: "it becomes a part of the path"}
}

func joinEscaped(parts []string, delim string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = escape(part)
	}
	return strings.Join(escaped, delim)
}

// alternating returns the names and values of members, one after the other.
func alternating(members []pair) []string {
	items := make([]string, 0, 2*len(members))
	for _, m := range members {
		items = append(items, m.name, m.value)
	}
	return items
}

// assigned returns name=value of each member.
func assigned(members []pair) []string {
	items := make([]string, len(members))
	for i, m := range members {
		items[i] = m.name + "=" + m.value
	}
	return items
}

// A shape is what a JSON value is to a parameter.
type shape int

const (
	nothing  shape = iota // null, or an array or object without elements
	single                // a string, number or boolean
	sequence              // an array of scalars
	record                // an object of scalars
)

// A flat is a JSON value that is no deeper than a parameter can be. Numbers and
// booleans are in it as they were written.
type flat struct {
	shape   shape
	text    string   // of a scalar
	items   []string // of a sequence
	members []pair   // of a record
}

// flatten takes a checked JSON value apart. No style has a form for nested values, and
// for null within the value.
func flatten(raw []byte, path string) (flat, *registry.Problem) {
	tooMany := &registry.Problem{Path: path, Want: fmt.Sprintf("of at most %d elements", maxItems), Got: "of more"}
	switch raw[0] {
	case 'n':
		return flat{}, nil
	case '[':
		var f flat
		for item := range jsonscan.Elements(raw) {
			text, problem := scalarOf(item, path+"["+strconv.Itoa(len(f.items))+"]")
			if problem != nil {
				return flat{}, problem
			}
			if len(f.items) == maxItems {
				return flat{}, tooMany
			}
			f.shape, f.items = sequence, append(f.items, text)
		}
		return f, nil
	case '{':
		var f flat
		for key, value := range jsonscan.Fields(raw) {
			text, problem := scalarOf(value, schemagate.Member(path, string(key)))
			if problem != nil {
				return flat{}, problem
			}
			if len(f.members) == maxItems {
				return flat{}, tooMany
			}
			f.shape, f.members = record, append(f.members, pair{string(key), text})
		}
		return f, nil
	default:
		return flat{shape: single, text: textOf(raw)}, nil
	}
}

func scalarOf(raw []byte, path string) (string, *registry.Problem) {
	switch raw[0] {
	case 'n', '[', '{':
		return "", &registry.Problem{Path: path, Want: "a string, a number or a boolean", Got: kindOf(raw), Hint: "this parameter has no form for it"}
	}
	return textOf(raw), nil
}

// textOf returns the content of a string, and any other value as JSON.
func textOf(raw []byte) string {
	if text, ok := jsonscan.String(raw); ok {
		return text
	}
	return string(compact(raw))
}

// compact returns a checked JSON value without white space.
func compact(raw []byte) []byte {
	if raw[0] != '[' && raw[0] != '{' {
		return raw
	}
	var text bytes.Buffer
	text.Grow(len(raw))
	if err := json.Compact(&text, raw); err != nil {
		return raw
	}
	return text.Bytes()
}

// kindOf names the type of a checked JSON value.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
