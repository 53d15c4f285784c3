// Values of the tests of the corpus: those that fit a schema, and how they may be written.

package profile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// A writer writes values for a schema by chance, most of which fit.
type writer struct {
	r    *rand.Rand
	root *node
}

// value writes a value for a schema.
func (w *writer) value(n *node, depth int) string {
	all := w.collect(n, nil, 0)
	if depth < -8 {
		return "null" // it cannot end
	}
	if len(all) == 0 {
		return w.anything(depth)
	}
	for _, s := range all {
		if c := s.Get("const"); c != nil {
			return c.Write()
		}
		if list := s.Get("enum"); list.Is('[') && len(list.Items) > 0 {
			return list.Items[w.r.IntN(len(list.Items))].Write()
		}
	}
	switch w.kind(all) {
	case "object":
		return w.object(all, depth)
	case "array":
		return w.array(all, depth)
	case "string":
		return w.text(all)
	case "integer":
		return w.number(all, true)
	case "number":
		return w.number(all, false)
	case "boolean":
		return w.pick("true", "false")
	case "null":
		return "null"
	}
	return w.anything(depth)
}

func (w *writer) pick(list ...string) string { return list[w.r.IntN(len(list))] }

// collect returns the schemas that hold for the same value: of a union, one branch.
func (w *writer) collect(n *node, into []*node, depth int) []*node {
	if !n.Is('{') || depth > 20 {
		return into
	}
	into = append(into, n)
	if ref := n.Get("$ref"); ref.Is('"') {
		into = w.collect(w.root.Resolve(ref.Text), into, depth+1)
	}
	for _, part := range n.Get("allOf").List() {
		into = w.collect(part, into, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := n.Get(key).List(); len(branches) > 0 {
			into = w.collect(branches[w.r.IntN(len(branches))], into, depth+1)
		}
	}
	return into
}

// kind chooses a type that all allow.
func (w *writer) kind(all []*node) string {
	var allowed []string
	for _, s := range all {
		names := providercheck.Types(s)
		switch {
		case names == nil:
		case allowed == nil:
			allowed = slices.Clone(names)
		default:
			allowed = slices.DeleteFunc(allowed, func(name string) bool {
				return !slices.Contains(names, name) && !(name == "number" && slices.Contains(names, "integer"))
			})
		}
	}
	if len(allowed) > 0 {
		return allowed[w.r.IntN(len(allowed))]
	}
	for _, s := range all {
		switch {
		case s.Get("properties") != nil || s.Get("required") != nil:
			return "object"
		case s.Get("items") != nil || s.Get("prefixItems") != nil:
			return "array"
		case s.Get("minimum") != nil:
			return "number"
		case s.Get("minLength") != nil:
			return "string"
		}
	}
	return ""
}

func (w *writer) anything(depth int) string {
	if depth <= 0 {
		return w.pick(`"x"`, `1`, `true`, `null`, `1e400`, `[]`, `{}`)
	}
	return w.pick(`"x"`, `-0`, `12345678901234567890`, `false`, `null`, `[1, "a"]`, `{"k" : [ ]}`, `"{\"a\":1}"`, `"\u00e9"`)
}

func (w *writer) object(all []*node, depth int) string {
	var names []string
	schemas := map[string]*node{}
	required := map[string]bool{}
	var more *node
	closed := false
	for _, s := range all {
		for _, name := range s.Get("properties").Keys() {
			if schemas[name] == nil {
				names = append(names, name)
				schemas[name] = s.Get("properties").Get(name)
			}
		}
		for _, name := range s.Get("required").List() {
			required[name.Text] = true
			if !slices.Contains(names, name.Text) {
				names = append(names, name.Text)
			}
		}
		if a := s.Get("additionalProperties"); a.Is('{') {
			more = a
		} else if a.Is('t') && a.Text == "false" {
			closed = true
		}
	}
	var parts []string
	for _, name := range names {
		if required[name] || depth > 0 && w.r.IntN(2) == 0 {
			parts = append(parts, w.name(name)+w.pick(":", ": ", " :\t")+w.value(schemas[name], depth-1))
		}
	}
	if !closed && depth > 0 && (more != nil || w.r.IntN(6) == 0) {
		for _, name := range []string{"extra", "x9", "k k"}[:w.r.IntN(3)] {
			if !slices.Contains(names, name) {
				parts = append(parts, w.name(name)+":"+w.value(more, depth-1))
			}
		}
	}
	w.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, w.pick(",", ", ", "\n,")) + "}"
}

// name writes a name, at times with an escape that says the same.
func (w *writer) name(text string) string {
	if text != "" && text[0] < 0x80 && text[0] > ' ' && w.r.IntN(8) == 0 {
		return fmt.Sprintf(`"\u%04x`, text[0]) + quoteJSON(text[1:])[1:]
	}
	return quoteJSON(text)
}

func (w *writer) array(all []*node, depth int) string {
	low, high := 0, 3
	var items *node
	var head []*node
	for _, s := range all {
		if n, err := strconv.Atoi(numberOf(s.Get("minItems"))); err == nil {
			low = max(low, n)
		}
		if n, err := strconv.Atoi(numberOf(s.Get("maxItems"))); err == nil {
			high = min(high, n)
		}
		if i := s.Get("items"); i.Is('[') {
			head = i.Items
		} else if i != nil {
			items = i
		}
		if p := s.Get("prefixItems"); p != nil {
			head = p.Items
		}
	}
	if depth <= 0 {
		high = low
	}
	if items.Is('t') && items.Text == "false" {
		high = min(high, len(head))
	}
	n := low
	if high > low {
		n += w.r.IntN(high - low + 1)
	}
	var parts []string
	for i := range n {
		if i < len(head) {
			parts = append(parts, w.value(head[i], depth-1))
		} else {
			parts = append(parts, w.value(items, depth-1))
		}
	}
	return "[" + strings.Join(parts, w.pick(",", " , ")) + "]"
}

// numberOf returns the digits of a number, none of anything else.
func numberOf(n *node) string {
	if !n.Is('0') {
		return ""
	}
	return n.Text
}

func (w *writer) text(all []*node) string {
	low := 0
	for _, s := range all {
		if n, err := strconv.Atoi(numberOf(s.Get("minLength"))); err == nil {
			low = max(low, n)
		}
	}
	if low > 4 {
		return quoteJSON(strings.Repeat("m", low))
	}
	return w.pick(`"a"`, `"abcd"`, `"x"`, `""`, `"null"`, `"\u00e9\/"`, `"2026-11-21"`, `"[1]"`, `"{\"a\":1}"`, `"1"`, `"true"`, `"z"`)
}

func (w *writer) number(all []*node, integer bool) string {
	candidates := []string{"0", "1", "2", "-1", "12345678901234567890", "1e2", "100"}
	if !integer {
		candidates = append(candidates, "0.5", "1.0", "-0.0", "1e-400", "1E+400", "0.30000000000000004")
	}
	for _, s := range all {
		for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
			if text := numberOf(s.Get(key)); text != "" {
				candidates = append(candidates, text)
				if n, err := strconv.Atoi(text); err == nil {
					candidates = append(candidates, strconv.Itoa(n+1), strconv.Itoa(n-1), strconv.Itoa(n+2))
				}
			}
		}
	}
	return candidates[w.r.IntN(len(candidates))]
}

// An encoder writes a value as a schema wants it that was made of another one,
// going by that schema alone.
type encoder struct{ root *node }

// forms returns the ways to write a value that may be meant, the likeliest first.
func (e *encoder) forms(value, schema *node, depth int) []string {
	if schema == nil || depth > 30 {
		return []string{value.Write()}
	}
	if ref := schema.Get("$ref"); ref.Is('"') {
		return e.forms(value, e.root.Resolve(ref.Text), depth+1)
	}
	var forms []string
	for _, branch := range schema.Get("anyOf").List() {
		forms = append(forms, e.forms(value, branch, depth+1)...)
		if len(forms) > 12 {
			break
		}
	}
	names := providercheck.Types(schema)
	switch {
	case value.Is('{') && slices.Contains(names, "object"):
		forms = append(forms, e.object(value, schema, depth)...)
	case value.Is('[') && slices.Contains(names, "array"):
		lists := []string{""}
		for _, item := range value.Items {
			lists = combine(lists, "", e.forms(item, schema.Get("items"), depth+1))
		}
		forms = append(forms, enclose("[", lists, "]")...)
	case value.Is('"') || providercheck.Fits(value, names):
		forms = append(forms, value.Write())
	}
	return forms
}

func (e *encoder) object(value, schema *node, depth int) []string {
	properties := schema.Get("properties")
	unlisted := func(name string) bool { return properties.Get(name) == nil }
	if schema.Get("additionalProperties").Is('t') && slices.ContainsFunc(value.Names, unlisted) {
		return nil // it cannot be written
	}
	lists := []string{""}
	for _, name := range properties.Keys() {
		forms := []string{"null"}
		if v := value.Get(name); v != nil {
			forms = e.forms(v, properties.Get(name), depth+1)
		}
		lists = combine(lists, quoteJSON(name)+":", forms)
	}
	return enclose("{", lists, "}")
}

// combine puts each of the forms behind each of the lists, some of them if there are
// many.
func combine(lists []string, name string, forms []string) []string {
	var next []string
	for _, head := range lists {
		for _, form := range forms {
			if len(next) < 16 {
				next = append(next, head+","+name+form)
			}
		}
	}
	return next
}

func enclose(left string, lists []string, right string) []string {
	for i := range lists {
		lists[i] = left + strings.TrimPrefix(lists[i], ",") + right
	}
	return lists
}
