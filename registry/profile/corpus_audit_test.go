package profile_test

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
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
	providercheck.EachSchema("", schema, func(_ string, n *node) bool {
		a.combined = a.combined || n.Get("allOf") != nil || n.Get("anyOf") != nil || n.Get("oneOf") != nil || n.Get("$ref") != nil
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
		said := a.from.Resolve("#" + l.Path)
		return a.combined && strings.HasSuffix(l.Path, "/"+key) && said != nil && valueOf(said) == valueOf(v)
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
	if !n.Is('{') || depth > 6 || slices.Contains(into, n) {
		return into
	}
	into = append(into, n)
	if ref := n.Get("$ref"); ref.Is('"') {
		into = a.candidates(a.to.Resolve(ref.Text), into, depth+1)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range n.Get(key).List() {
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
	if !n.Is('{') {
		if n.Is('t') && n.Text == "false" && !slices.ContainsFunc(a.candidates(to, []*node{to}, 0), corpusNothing) {
			a.miss(place)
		}
		return
	}
	if to == nil {
		if len(n.Names) > 0 {
			a.miss(place)
		}
		return
	}
	there := a.candidates(to, nil, 0)
	if a.again(visit{place, n}, there) {
		return
	}
	n = corpusReachable(n)
	for _, key := range n.Names {
		a.keyword(providercheck.Member(place, key), key, n, n.Get(key), there, depth)
	}
}

// again tells whether a visit held the schema against the same before, as those of
// schemas that refer to themselves do.
func (a *auditor) again(v visit, there []*node) bool {
	var own []*node
	for _, t := range there {
		if t.Text != joined { // anew for each visit
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
		if n.Get("$ref") != nil {
			return // nobody reads it, and what it is about stands elsewhere
		}
		if !a.kept(key, v, there) && !a.echoed(key, v) {
			a.miss(place)
		}
	case "$ref":
		target := a.from.Resolve(v.Text)
		if at, ok := strings.CutPrefix(v.Text, "#"); ok && target != nil && !a.told(place) {
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
	return slices.ContainsFunc(there, func(t *node) bool { return t.Get(key) != nil && valueOf(t.Get(key)) == valueOf(v) })
}

// valueOf returns a value in one form, numbers by what they are.
func valueOf(n *node) string { return corpusCanonical([]byte(n.Write())) }

// same tells whether others say what the keyword says.
func (a *auditor) same(place, key string, n, v *node, there []*node) bool {
	all := func(test func(*node) bool) bool { return slices.ContainsFunc(there, test) }
	switch key {
	case "description": // with a note on the form
		return all(func(t *node) bool { return v.Text != "" && strings.Contains(t.Get(key).StringValue(), v.Text) })
	case "const":
		return all(func(t *node) bool {
			return slices.ContainsFunc(t.Get("enum").List(), func(item *node) bool { return valueOf(item) == valueOf(v) })
		}) || v.Is('n') && all(func(t *node) bool { return t.Get("type").Says("null") })
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
		return slices.Contains(providercheck.Types(n), "integer") && all(func(t *node) bool { return corpusNext(v.Text, step, numberOf(t.Get(twin))) })
	case "dependencies": // of an older draft
		return all(func(t *node) bool { return t.Get("dependentRequired") != nil || t.Get("dependentSchemas") != nil })
	case "nullable":
		return all(func(t *node) bool { return slices.Contains(providercheck.Types(t), "null") })
	}
	return false
}

// sameType tells whether the types stand there: all but those that no value is of, for
// what stands beside it.
func (a *auditor) sameType(place string, n *node, there []*node) bool {
	var have []string
	for _, t := range there {
		have = append(have, providercheck.Types(t)...)
	}
	if a.combined && len(have) > 0 {
		return true // what all allow is left
	}
	only := n.Get("enum").List()
	if c := n.Get("const"); c != nil {
		only = []*node{c}
	}
	for _, name := range providercheck.Types(n) {
		used := len(only) == 0 || slices.ContainsFunc(only, func(v *node) bool { return providercheck.Fits(v, []string{name}) })
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
		for _, item := range t.Get("enum").List() {
			have[valueOf(item)] = true
		}
		if c := t.Get("const"); c != nil {
			have[valueOf(c)] = true
		}
		if slices.Contains(providercheck.Types(t), "null") && t.Get("enum") == nil {
			have["null"] = true
		}
	}
	both := a.combined && len(have) > 0 // what both allow is left
	for i, item := range v.Items {
		if !have[valueOf(item)] && !both && (providercheck.Types(n) == nil || providercheck.Fits(item, providercheck.Types(n))) && !a.told(providercheck.Element(place, i)) {
			return false
		}
	}
	return true
}

// properties audits each, where it is now.
func (a *auditor) properties(place string, v *node, there []*node, depth int) {
	if !v.Is('{') {
		return
	}
	for _, name := range v.Names {
		at := providercheck.Member(place, name)
		var to []*node
		for _, t := range there {
			if p := t.Get("properties").Get(name); p != nil {
				to = append(to, p)
			}
		}
		if len(to) == 0 {
			gone := func(l profile.Loss) bool {
				return l.Kind == profile.PropertyDropped && strings.HasSuffix(l.Path, "/properties"+providercheck.Member("", name))
			}
			if !a.renamed(name) && !slices.ContainsFunc(a.losses, gone) {
				a.miss(at)
			}
			continue
		}
		if s := v.Get(name); s.Is('t') && s.Text == "false" {
			if !slices.ContainsFunc(to, corpusNothing) {
				a.miss(at)
			}
			continue
		}
		a.schema(at, v.Get(name), corpusJoin(to), depth+1)
	}
}

// below audits the schema that a keyword holds.
func (a *auditor) below(place, key string, v *node, there []*node, depth int) {
	if v.Is('t') && v.Text == "true" || v.Is('{') && len(v.Names) == 0 {
		return // as if it were not there
	}
	if v.Is('[') {
		for i, item := range v.Items { // a tuple of an older draft
			a.element(providercheck.Element(place, i), i, item, there, depth)
		}
		return
	}
	var to []*node
	for _, t := range there {
		if b := t.Get(key); b != nil {
			to = append(to, b)
		}
		if b := t.Get("additionalProperties"); key == "unevaluatedProperties" && b != nil && !a.has("allOf", there) {
			to = append(to, b)
		}
		if key == "additionalProperties" {
			for _, p := range t.Get("properties").Keys() { // the one for all others
				for _, part := range a.candidates(t.Get("properties").Get(p), nil, 0) {
					if pair := part.Get("items").Get("properties"); len(pair.Keys()) == 2 {
						to = append(to, pair.Get(pair.Names[1]))
					}
				}
			}
		}
		if key == "additionalProperties" || key == "additionalItems" {
			if pair := t.Get("items"); pair.Is('{') && key == "additionalProperties" {
				for _, name := range pair.Get("properties").Keys() { // a list of names and values
					to = append(to, pair.Get("properties").Get(name))
				}
			} else if pair.Is('{') {
				to = append(to, pair)
			}
		}
	}
	if strings.HasSuffix(strings.ToLower(key), "items") && v.Is('t') && a.has("maxItems", there) {
		return // no more of them
	}
	if key == "additionalProperties" && v.Is('t') && a.told(strings.TrimSuffix(place, key)+"patternProperties") {
		return // without the patterns, it would forbid what they allow
	}
	if len(to) == 0 || v.Is('t') && !slices.ContainsFunc(to, corpusNothing) {
		a.miss(place)
		return
	}
	if !v.Is('t') {
		a.schema(place, v, corpusJoin(to), depth+1)
	}
}

// element audits the schema of an element of a tuple.
func (a *auditor) element(place string, i int, v *node, there []*node, depth int) {
	var to []*node
	for _, t := range there {
		if list := t.Get("prefixItems"); list != nil && i < len(list.Items) {
			to = append(to, list.Items[i])
		}
		if items := t.Get("items"); items.Is('[') && i < len(items.Items) {
			to = append(to, items.Items[i])
		} else if items.Is('{') {
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
		return item.Is('t') && item.Text == "true" || item.Is('{') && len(item.Names) == 0
	}
	if (key == "anyOf" || key == "oneOf" && a.told(place)) && slices.ContainsFunc(v.Items, free) {
		return // anything fits
	}
	if key == "oneOf" && len(v.Items) > 1 && !a.told(place) && !a.inside(place) && !a.has("oneOf", there) && !corpusApart(a.from, v.Items) {
		a.miss(place) // at least one is not exactly one
		return
	}
	if key == "allOf" || key == "prefixItems" || a.has(key, there) || key == "oneOf" && a.has("anyOf", there) {
		for i, item := range v.Items {
			if key == "prefixItems" {
				a.element(providercheck.Element(place, i), i, item, there, depth)
			} else {
				a.schema(providercheck.Element(place, i), item, corpusJoin(there), depth+1)
			}
		}
		return
	}
	for i, item := range v.Items { // a list of types says the same, or the branches were merged
		a.schema(providercheck.Element(place, i), item, corpusJoin(there), depth+1)
	}
}

// has tells whether one of them has the keyword.
func (a *auditor) has(key string, there []*node) bool {
	return slices.ContainsFunc(there, func(t *node) bool { return t.Get(key) != nil })
}

// renamed tells whether a property has another name now.
func (a *auditor) renamed(name string) bool {
	return slices.ContainsFunc(a.losses, func(l profile.Loss) bool {
		return l.Kind == profile.PropertyRenamed && strings.HasSuffix(l.Path, "/properties"+providercheck.Member("", name))
	})
}

// required audits the names, each by itself.
func (a *auditor) required(place string, v *node, there []*node) {
	for i, name := range v.List() {
		found := slices.ContainsFunc(there, func(t *node) bool {
			return slices.ContainsFunc(t.Get("required").List(), func(r *node) bool { return r.Says(name.Text) })
		})
		if !found && !a.renamed(name.Text) && !a.told(providercheck.Element(place, i)) {
			a.miss(place)
			return
		}
	}
}
