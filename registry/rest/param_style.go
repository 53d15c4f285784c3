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
	"github.com/mcpbelt/mcpbelt/registry"
)

// styleJSON is the style of a value that is sent as JSON text. The others, simple and form,
// follow from the place.
const styleJSON = "json"

// A flat is what a value becomes outside of JSON: texts, of which a value that is no list has
// one, and null and an empty list none.
type flat struct {
	texts []string
	list  bool
}

// flatten takes a checked JSON value apart. Only JSON has a form for nested values, and for null
// within a value.
func (p *Param) flatten(raw []byte) (flat, *registry.Problem) {
	object := raw[0] == '{' && p.In == InBody && p.Style == ""
	switch {
	case raw[0] == 'n':
		return flat{}, nil
	case p.Style == styleJSON || object:
		return flat{texts: []string{string(compact(raw))}}, nil
	case raw[0] == '[':
		f := flat{list: true}
		for item := range jsonscan.Elements(raw) {
			if problem := scalarProblem(item, p.path()+"["+strconv.Itoa(len(f.texts))+"]"); problem != nil {
				return flat{}, problem
			}
			if len(f.texts) == maxItems {
				return flat{}, &registry.Problem{Path: p.path(), Want: fmt.Sprintf("of at most %d elements", maxItems), Got: "of more"}
			}
			f.texts = append(f.texts, textOf(item))
		}
		return f, nil
	}
	return flat{texts: []string{textOf(raw)}}, scalarProblem(raw, p.path())
}

func scalarProblem(raw []byte, path string) *registry.Problem {
	switch raw[0] {
	case 'n', '[', '{':
		return &registry.Problem{Path: path, Want: "a string, a number or a boolean", Got: kindOf(raw), Hint: "this parameter has no form for it"}
	}
	return nil
}

// pairs returns what a value becomes in a query, escaped but for the commas between elements,
// or in a form, not escaped: its texts under the name of the parameter. Without a way to escape
// them, no text of a list that is one pair has a comma.
func (p *Param) pairs(raw []byte, escape func(string) string) ([]pair, *registry.Problem) {
	f, problem := p.flatten(raw)
	if problem != nil || len(f.texts) == 0 {
		return nil, problem
	}
	name := p.Name
	if escape == nil {
		escape = func(text string) string { return text }
		if f.list && !p.exploded() {
			problem = p.withoutCommas(f.texts)
		}
	} else {
		name = escape(name)
	}
	var pairs []pair
	for i, text := range f.texts {
		if i > 0 && !p.exploded() {
			pairs[0].value += "," + escape(text)
			continue
		}
		pairs = append(pairs, pair{name, escape(text)})
	}
	return pairs, problem
}

// withoutCommas refuses elements with a comma in them, which cannot be told from two elements.
func (p *Param) withoutCommas(texts []string) *registry.Problem {
	for _, text := range texts {
		if strings.Contains(text, ",") {
			return &registry.Problem{
				Path: p.path(), Want: "made of texts without " + plain.Quote(","), Got: "one with it",
				Hint: "that sign stands between the elements of this parameter",
			}
		}
	}
	return nil
}

// headerValue returns what a value becomes in a header; ok is false if it is left
// out.
func (p *Param) headerValue(raw []byte) (value string, ok bool, problem *registry.Problem) {
	f, problem := p.flatten(raw)
	if problem != nil || len(f.texts) == 0 {
		return "", false, problem
	}
	if f.list {
		for _, item := range f.texts {
			if item == "" || strings.Trim(item, " \t") != item {
				return "", false, &registry.Problem{Path: p.path(), Want: "made of texts without blanks at their ends", Got: "one that has them, or is empty"}
			}
		}
		problem = p.withoutCommas(f.texts)
	}
	value = strings.Join(f.texts, ",")
	switch {
	case problem != nil:
	case len(value) > maxHeader:
		problem = &registry.Problem{Path: p.path(), Want: "at most 8 KiB long", Got: "longer"}
	case !httpfield.ValidValue(value):
		problem = &registry.Problem{Path: p.path(), Want: "without control characters", Got: "a text with some", Hint: "it becomes a header, which is one line"}
	case strings.Trim(value, " \t") != value:
		problem = &registry.Problem{Path: p.path(), Want: "without blanks at its ends", Got: "a text with some", Hint: "it becomes a header, which loses them"}
	}
	return value, true, problem
}

// pathValue returns what a value becomes in a segment of the path, escaped.
func (p *Param) pathValue(raw []byte) (string, *registry.Problem) {
	f, problem := p.flatten(raw)
	if problem != nil {
		return "", problem
	}
	if len(f.texts) == 0 || !f.list && f.texts[0] == "" {
		return "", &registry.Problem{Path: p.path(), Want: "a value", Got: "none", Hint: "it becomes a part of the path"}
	}
	escaped := make([]string, len(f.texts))
	for i, text := range f.texts {
		if !httpfield.ValidValue(text) || strings.IndexByte(text, '\t') >= 0 {
			return "", &registry.Problem{Path: p.path(), Want: "without control characters", Got: "a text with some", Hint: "it becomes a part of the path"}
		}
		escaped[i] = escape(text)
	}
	return strings.Join(escaped, ","), nil
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
	var text bytes.Buffer
	_ = json.Compact(&text, raw)
	return text.Bytes()
}

// kindOf names the type of a checked JSON value.
func kindOf(raw []byte) string { return plain.Article(jsonscan.TypeOf(raw[0])) }
