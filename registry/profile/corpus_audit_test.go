package profile_test

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// An auditor holds what became of a schema against the schema itself, keyword by
// keyword: each has to be where it belongs, or to be among the losses. It does not
// know how the compiler works.
type auditor struct {
	losses   []profile.Loss
	from, to *node // the roots
	silent   []string
	seen     map[string]bool
	combined bool // schemas are combined in it, so that one may tighten the other
	steps    int
	visited  map[visit][][]*node // with what each was held against
}

// A visit is of a schema at a place.
type visit struct {
	place string
	n     *node
}

// audit returns the keywords that vanished without a word, as places in the schema.
func audit(schema, compiled *node, losses []profile.Loss) []string {
	a := &auditor{losses: losses, from: schema, to: compiled, seen: map[string]bool{}, visited: map[visit][][]*node{}}
	eachSchema("", schema, func(_ string, n *node) bool {
		a.combined = a.combined || n.get("allOf") != nil || n.get("anyOf") != nil || n.get("oneOf") != nil || n.get("$ref") != nil
		return !a.combined
	})
	for _, loss := range losses {
		if loss.Kind == profile.MoreLosses {
			return nil // not all of them are listed
		}
	}
	a.schema("", schema, compiled, 0)
	return a.silent
}

// told tells whether a loss is about the place, or about one that holds it and went
// away as a whole.
func (a *auditor) told(place string) bool {
	return slices.ContainsFunc(a.losses, func(l profile.Loss) bool {
		switch l.Kind {
		case profile.NameChanged, profile.DescriptionCut, profile.OutputDropped, profile.NotStrict:
			return false
		case profile.UnionMerged, profile.UnionLoosened, profile.NullForMissing, profile.PropertyRenamed,
			profile.TypeGuessed, profile.PropertiesClosed, profile.KeywordChanged, profile.TupleLoosened:
			return l.Path == place || corpusSaid(l, place) // what is in it is still there
		}
		return l.Path == place || strings.HasPrefix(place, l.Path+"/") || strings.HasSuffix(l.Path, "/…") && strings.HasPrefix(place, strings.TrimSuffix(l.Path, "…"))
	})
}

// corpusSaid tells whether a loss about a whole tells of a keyword in it, too.
func corpusSaid(l profile.Loss, place string) bool {
	rest, ok := strings.CutPrefix(place, l.Path+"/")
	switch l.Kind {
	case profile.UnionMerged: // which properties belong together
		_, key, _ := strings.Cut(rest, "/")
		return ok && slices.Contains([]string{"required", "additionalProperties", "type"}, key)
	}
	return false
}

// inside tells whether a loss is about a place below another.
func (a *auditor) inside(place string) bool {
	return slices.ContainsFunc(a.losses, func(l profile.Loss) bool { return strings.HasPrefix(l.Path, place+"/") })
}

// toldOf tells whether a loss is about a keyword of that name, anywhere.
func (a *auditor) toldOf(key string) bool {
	return slices.ContainsFunc(a.losses, func(l profile.Loss) bool { return strings.HasSuffix(l.Path, "/"+key) })
}

// echoed tells whether the loss of a keyword is told of another place, where it says
// the same: where schemas are combined, one of the two is left.
func (a *auditor) echoed(key string, v *node) bool {
	return slices.ContainsFunc(a.losses, func(l profile.Loss) bool {
		said := a.from.resolve("#" + l.Path)
		return a.combined && strings.HasSuffix(l.Path, "/"+key) && said != nil && said.value() == v.value()
	})
}

func (a *auditor) miss(place string) {
	if !a.seen[place] && !a.told(place) {
		a.seen[place] = true
		a.silent = append(a.silent, place)
	}
}

// candidates returns the schemas in which the keywords of one may stand: itself, what
// it refers to, what it holds in allOf, and its branches if it became a union.
func (a *auditor) candidates(n *node, into []*node, depth int) []*node {
	if !n.is('{') || depth > 6 || slices.Contains(into, n) {
		return into
	}
	into = append(into, n)
	if ref := n.get("$ref"); ref.is('"') {
		into = a.candidates(a.to.resolve(ref.text), into, depth+1)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range n.get(key).list() {
			into = a.candidates(part, into, depth+1)
		}
	}
	return into
}

// schema audits one schema. To is what became of it; nil: nothing.
func (a *auditor) schema(place string, n, to *node, depth int) {
	if a.steps++; a.steps > 60_000 || depth > 70 {
		return
	}
	if !n.is('{') {
		if n.is('t') && n.text == "false" && !slices.ContainsFunc(a.candidates(to, []*node{to}, 0), corpusNothing) {
			a.miss(place)
		}
		return
	}
	if to == nil {
		if len(n.names) > 0 {
			a.miss(place)
		}
		return
	}
	there := a.candidates(to, nil, 0)
	if a.again(visit{place, n}, there) {
		return
	}
	n = corpusReachable(n)
	for _, key := range n.names {
		a.keyword(corpusMember(place, key), key, n, n.get(key), there, depth)
	}
}

// again tells whether a visit held the schema against the same before, as those of
// schemas that refer to themselves do.
func (a *auditor) again(v visit, there []*node) bool {
	var own []*node
	for _, t := range there {
		if !t.joined { // anew for each visit
			own = append(own, t)
		}
	}
	if len(own) < len(there) {
		own = append(own, nil) // what is joined has an allOf
	}
	if slices.ContainsFunc(a.visited[v], func(before []*node) bool { return slices.Equal(before, own) }) {
		return true
	}
	a.visited[v] = append(a.visited[v], own)
	return false
}

func (a *auditor) keyword(place, key string, n, v *node, there []*node, depth int) {
	switch key {
	case "$schema", "$id", "$anchor", "$defs", "definitions", "$vocabulary":
		return // they say where things are
	case "$comment":
		if n.get("$ref") != nil {
			return // nobody reads it, and what it is about stands elsewhere
		}
		if !a.kept(key, v, there) && !a.echoed(key, v) {
			a.miss(place)
		}
	case "$ref":
		target := a.from.resolve(v.text)
		if at, ok := strings.CutPrefix(v.text, "#"); ok && target != nil && !a.told(place) {
			a.schema(at, target, corpusAllOf(there), depth+1)
		}
	case "properties":
		a.properties(place, v, there, depth)
	case "not", "if", "then", "else":
		if !a.echoed(key, v) {
			a.below(place, key, v, there, depth)
		}
	case "items", "additionalProperties", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema", "additionalItems":
		a.below(place, key, v, there, depth)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		a.branches(place, key, n, v, there, depth)
	case "patternProperties", "dependentSchemas":
		if !a.kept(key, v, there) && !a.echoed(key, v) {
			a.miss(place)
		}
	case "required":
		a.required(place, v, there)
	default:
		if !corpusEmpty(key, v) && !a.kept(key, v, there) && !a.same(place, key, n, v, there) && !a.echoed(key, v) {
			a.miss(place)
		}
	}
}

// kept tells whether the keyword stands there with the same value.
func (a *auditor) kept(key string, v *node, there []*node) bool {
	return slices.ContainsFunc(there, func(t *node) bool { return t.get(key) != nil && t.get(key).value() == v.value() })
}

// value returns the value in one form, numbers by what they are.
func (n *node) value() string { return corpusCanonical([]byte(n.write())) }

// same tells whether others say what the keyword says.
func (a *auditor) same(place, key string, n, v *node, there []*node) bool {
	all := func(test func(*node) bool) bool { return slices.ContainsFunc(there, test) }
	switch key {
	case "description": // with a note on the form
		return all(func(t *node) bool { return v.text != "" && strings.Contains(t.get(key).name(), v.text) })
	case "const":
		return all(func(t *node) bool {
			return slices.ContainsFunc(t.get("enum").list(), func(item *node) bool { return item.value() == v.value() })
		}) || v.is('n') && all(func(t *node) bool { return t.get("type").says("null") })
	case "enum":
		return a.sameEnum(place, n, v, there)
	case "type":
		return a.sameType(place, n, there)
	case "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems":
		// The tighter one is left, or is told of.
		return a.combined && (a.has(key, there) || a.toldOf(key))
	case "exclusiveMinimum", "exclusiveMaximum":
		twin := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
		step := map[string]string{"exclusiveMinimum": "+", "exclusiveMaximum": "-"}[key]
		return slices.Contains(corpusTypes(n), "integer") && all(func(t *node) bool { return corpusNext(v.text, step, t.get(twin).number()) })
	case "dependencies": // of an older draft
		return all(func(t *node) bool { return t.get("dependentRequired") != nil || t.get("dependentSchemas") != nil })
	case "nullable":
		return all(func(t *node) bool { return slices.Contains(corpusTypes(t), "null") })
	}
	return false
}

// sameType tells whether the types stand there: all but those that no value is of, for
// what stands beside it.
func (a *auditor) sameType(place string, n *node, there []*node) bool {
	var have []string
	for _, t := range there {
		have = append(have, corpusTypes(t)...)
	}
	if a.combined && len(have) > 0 {
		return true // what all allow is left
	}
	only := n.get("enum").list()
	if c := n.get("const"); c != nil {
		only = []*node{c}
	}
	for _, name := range corpusTypes(n) {
		used := len(only) == 0 || slices.ContainsFunc(only, func(v *node) bool { return corpusFits(v, []string{name}) })
		if used && !slices.Contains(have, name) && !(name == "number" && slices.Contains(have, "integer") && len(only) > 0) {
			return false
		}
	}
	return true
}

// sameEnum tells whether the values stand there, in whatever union or order: all but
// those that do not fit what stands beside them, and those that are told.
func (a *auditor) sameEnum(place string, n, v *node, there []*node) bool {
	have := map[string]bool{}
	for _, t := range there {
		for _, item := range t.get("enum").list() {
			have[item.value()] = true
		}
		if c := t.get("const"); c != nil {
			have[c.value()] = true
		}
		if slices.Contains(corpusTypes(t), "null") && t.get("enum") == nil {
			have["null"] = true
		}
	}
	both := a.combined && len(have) > 0 // what both allow is left
	for i, item := range v.items {
		if !have[item.value()] && !both && (corpusTypes(n) == nil || corpusFits(item, corpusTypes(n))) && !a.told(corpusElement(place, i)) {
			return false
		}
	}
	return true
}

// properties audits each, where it is now.
func (a *auditor) properties(place string, v *node, there []*node, depth int) {
	if !v.is('{') {
		return
	}
	for _, name := range v.names {
		at := corpusMember(place, name)
		var to []*node
		for _, t := range there {
			if p := t.get("properties").get(name); p != nil {
				to = append(to, p)
			}
		}
		if len(to) == 0 {
			gone := func(l profile.Loss) bool {
				return l.Kind == profile.PropertyDropped && strings.HasSuffix(l.Path, "/properties"+corpusMember("", name))
			}
			if !a.renamed(name) && !slices.ContainsFunc(a.losses, gone) {
				a.miss(at)
			}
			continue
		}
		if s := v.get(name); s.is('t') && s.text == "false" {
			if !slices.ContainsFunc(to, corpusNothing) {
				a.miss(at)
			}
			continue
		}
		a.schema(at, v.get(name), corpusJoin(to), depth+1)
	}
}

// below audits the schema that a keyword holds.
func (a *auditor) below(place, key string, v *node, there []*node, depth int) {
	if v.is('t') && v.text == "true" || v.is('{') && len(v.names) == 0 {
		return // as if it were not there
	}
	if v.is('[') {
		for i, item := range v.items { // a tuple of an older draft
			a.element(corpusElement(place, i), i, item, there, depth)
		}
		return
	}
	var to []*node
	for _, t := range there {
		if b := t.get(key); b != nil {
			to = append(to, b)
		}
		if b := t.get("additionalProperties"); key == "unevaluatedProperties" && b != nil && !a.has("allOf", there) {
			to = append(to, b)
		}
		if key == "additionalProperties" {
			for _, p := range t.get("properties").keys() { // the one for all others
				for _, part := range a.candidates(t.get("properties").get(p), nil, 0) {
					if pair := part.get("items").get("properties"); len(pair.keys()) == 2 {
						to = append(to, pair.get(pair.names[1]))
					}
				}
			}
		}
		if key == "additionalProperties" || key == "additionalItems" {
			if pair := t.get("items"); pair.is('{') && key == "additionalProperties" {
				for _, name := range pair.get("properties").keys() { // a list of names and values
					to = append(to, pair.get("properties").get(name))
				}
			} else if pair.is('{') {
				to = append(to, pair)
			}
		}
	}
	if strings.HasSuffix(strings.ToLower(key), "items") && v.is('t') && a.has("maxItems", there) {
		return // no more of them
	}
	if key == "additionalProperties" && v.is('t') && a.told(strings.TrimSuffix(place, key)+"patternProperties") {
		return // without the patterns, it would forbid what they allow
	}
	if len(to) == 0 || v.is('t') && !slices.ContainsFunc(to, corpusNothing) {
		a.miss(place)
		return
	}
	if !v.is('t') {
		a.schema(place, v, corpusJoin(to), depth+1)
	}
}

// element audits the schema of an element of a tuple.
func (a *auditor) element(place string, i int, v *node, there []*node, depth int) {
	var to []*node
	for _, t := range there {
		if list := t.get("prefixItems"); list != nil && i < len(list.items) {
			to = append(to, list.items[i])
		}
		if items := t.get("items"); items.is('[') && i < len(items.items) {
			to = append(to, items.items[i])
		} else if items.is('{') {
			to = append(to, items)
		}
	}
	if len(to) == 0 {
		a.miss(place)
		return
	}
	a.schema(place, v, corpusJoin(to), depth+1)
}

// branches audits the schemas of a list.
func (a *auditor) branches(place, key string, n, v *node, there []*node, depth int) {
	free := func(item *node) bool {
		return item.is('t') && item.text == "true" || item.is('{') && len(item.names) == 0
	}
	if (key == "anyOf" || key == "oneOf" && a.told(place)) && slices.ContainsFunc(v.items, free) {
		return // anything fits
	}
	if key == "oneOf" && len(v.items) > 1 && !a.told(place) && !a.inside(place) && !a.has("oneOf", there) && !corpusApart(a.from, v.items) {
		a.miss(place) // at least one is not exactly one
		return
	}
	if key == "allOf" || key == "prefixItems" || a.has(key, there) || key == "oneOf" && a.has("anyOf", there) {
		for i, item := range v.items {
			if key == "prefixItems" {
				a.element(corpusElement(place, i), i, item, there, depth)
			} else {
				a.schema(corpusElement(place, i), item, corpusJoin(there), depth+1)
			}
		}
		return
	}
	for i, item := range v.items { // a list of types says the same, or the branches were merged
		a.schema(corpusElement(place, i), item, corpusJoin(there), depth+1)
	}
}

// has tells whether one of them has the keyword.
func (a *auditor) has(key string, there []*node) bool {
	return slices.ContainsFunc(there, func(t *node) bool { return t.get(key) != nil })
}

// renamed tells whether a property has another name now.
func (a *auditor) renamed(name string) bool {
	return slices.ContainsFunc(a.losses, func(l profile.Loss) bool {
		return l.Kind == profile.PropertyRenamed && strings.HasSuffix(l.Path, "/properties"+corpusMember("", name))
	})
}

// required audits the names, each by itself.
func (a *auditor) required(place string, v *node, there []*node) {
	for i, name := range v.list() {
		found := slices.ContainsFunc(there, func(t *node) bool {
			return slices.ContainsFunc(t.get("required").list(), func(r *node) bool { return r.says(name.text) })
		})
		if !found && !a.renamed(name.text) && !a.told(corpusElement(place, i)) {
			a.miss(place)
			return
		}
	}
}
