package schemagate

import (
	"cmp"
	"hash/maphash"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A fallback is the default of a property: "name":value, as JSON, with the
// defaults of all that is within the value.
type fallback struct {
	name string
	text []byte
}

const (
	// maxDefault bounds the default of a property with all that is within, in
	// bytes.
	maxDefault = 64 << 10
	// maxDefaults bounds those of a schema together.
	maxDefaults = MaxBytes
)

// A completer finds out which defaults can be used.
type completer struct {
	*parts
	nodes  map[string]*node
	budget budget
	steps  int                           // that may still come
	room   int                           // in bytes
	done   map[*jsonschema.Schema][]byte // by property; nil if not to be used
	open   map[*jsonschema.Schema]bool   // being completed; false if found within itself
	ready  map[*jsonschema.Schema]bool   // the defaults of its properties are known
}

// addDefaults finds the defaults of all properties. Such that do not fit their
// own schema are overlooked, as are those that lead to themselves, and null: a
// member that is null says no more than one that is not there. If there is too
// much to them, all are.
func (p *parts) addDefaults() {
	c := completer{
		parts:  p,
		nodes:  map[string]*node{},
		budget: budget{left: MaxSteps, seed: maphash.MakeSeed()},
		steps:  MaxSteps,
		room:   maxDefaults,
		done:   map[*jsonschema.Schema][]byte{},
		open:   map[*jsonschema.Schema]bool{},
		ready:  map[*jsonschema.Schema]bool{},
	}
	c.collect(p.root.root)
	for _, s := range p.byLocation {
		c.fallbacks(s)
	}
	if c.steps < 0 || c.room < 0 || c.budget.left < 0 {
		clear(p.defaults)
	}
}

// fallbacks returns the defaults of the properties of s, by name.
func (c *completer) fallbacks(s *jsonschema.Schema) []fallback {
	if c.ready[s] {
		return c.defaults[s]
	}
	var all []fallback
	whole := true
	for name, property := range s.Properties {
		if _, open := c.open[property]; open {
			whole = false
		}
		value := c.complete(property)
		quoted, err := encode(name)
		if value == nil || err != nil {
			continue
		}
		all = append(all, fallback{name, append(append(quoted, ':'), value...)})
	}
	slices.SortFunc(all, func(a, b fallback) int { return cmp.Compare(a.name, b.name) })
	if c.ready[s] = whole; whole && len(all) > 0 {
		c.defaults[s] = all
	}
	return all
}

// complete returns the default of a property with the defaults of all that is
// within, or nil if there is none that can be used.
func (c *completer) complete(property *jsonschema.Schema) []byte {
	if value, ok := c.done[property]; ok {
		return value
	}
	if _, open := c.open[property]; open {
		c.open[property] = false
		return nil
	}
	declared := defaultOf(property)
	if declared == nil || *declared == nil {
		c.done[property] = nil
		return nil
	}
	c.open[property] = true
	value, err := encode(*declared)
	if err == nil && jsonscan.Valid(value) == nil {
		r := round{parts: c.parts, how: Mending{Defaults: true}, steps: &c.steps, fallbacks: c.fallbacks, data: value}
		r.value(0, len(value), []*jsonschema.Schema{property})
		if changed := r.result(); changed != nil {
			value = changed
		}
	}
	if err != nil || !c.open[property] || len(value) > maxDefault || !c.fits(property, value) {
		value = nil
	}
	c.room -= len(value)
	delete(c.open, property)
	c.done[property] = value
	return value
}

// defaultOf returns the default of a schema, or of those that it refers to.
func defaultOf(s *jsonschema.Schema) *any {
	all := []*jsonschema.Schema{s}
	for i := 0; i < len(all); i++ {
		if s := all[i]; s.Default != nil {
			return s.Default
		}
		for _, sub := range append([]*jsonschema.Schema{all[i].Ref}, all[i].AllOf...) {
			if sub != nil && !slices.Contains(all, sub) {
				all = append(all, sub)
			}
		}
	}
	return nil
}

// fits reports whether a value fits a part of the schema, and can be checked with
// what is left of the budget.
func (c *completer) fits(s *jsonschema.Schema, value []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	n := c.nodes[pathOf(s)]
	decoded, excess := read(value, MaxNodes, MaxDepth)
	if n == nil || excess != fine || c.steps < 0 || c.room < 0 || !c.budget.visit(n, decoded) {
		return false
	}
	return s.Validate(decoded) == nil
}

// pathOf returns where a schema stands in the document, as the gate names it.
func pathOf(s *jsonschema.Schema) string {
	_, pointer, _ := strings.Cut(s.Location, "#")
	path, err := url.PathUnescape(pointer)
	if err != nil {
		return s.Location // no path
	}
	return path
}

// collect finds all that the gate knows below n.
func (c *completer) collect(n *node) {
	if n == nil || c.nodes[n.path] != nil {
		return
	}
	c.nodes[n.path] = n
	below := slices.Concat(n.same, n.rest, n.prefix, n.elements, []*node{n.names})
	for _, sub := range n.members {
		below = append(below, sub)
	}
	for _, sub := range n.matching {
		below = append(below, sub.node)
	}
	for _, sub := range below {
		c.collect(sub)
	}
}
