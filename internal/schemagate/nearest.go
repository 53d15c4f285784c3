package schemagate

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// nearest adds what is wrong with the alternative that a value comes nearest to,
// or that it fits none.
//
// Alternatives for values of another kind are out, and so are those that another
// tag belongs to, if one is left then. Of the others the one counts that needs the
// fewest corrections.
func (r *report) nearest(err *jsonschema.ValidationError) {
	left := slices.DeleteFunc(slices.Clone(err.Causes), func(c *jsonschema.ValidationError) bool {
		return wrongAt(c, err.InstanceLocation, isType)
	})
	tagged := slices.DeleteFunc(slices.Clone(left), func(c *jsonschema.ValidationError) bool {
		return wrongAt(c, err.InstanceLocation, isTag)
	})
	if len(tagged) > 0 {
		left = tagged
	}
	var best *report
	alone := true
	for _, cause := range left {
		sub := &report{parts: r.parts, value: r.value}
		sub.collect(cause)
		if best != nil && sub.total == best.total {
			alone = false
		}
		if best == nil || sub.total < best.total {
			best, alone = sub, true
		}
	}
	if best == nil || !alone {
		r.add(line{at: err.InstanceLocation, err: err})
		return
	}
	r.total += best.total
	for _, l := range best.lines {
		r.insert(l)
	}
}

func isType(k jsonschema.ErrorKind, depth int) bool {
	_, ok := k.(*kind.Type)
	return ok && depth == 0
}

// isTag reports whether a member is not the only value that is allowed.
func isTag(k jsonschema.ErrorKind, depth int) bool {
	switch k := k.(type) {
	case *kind.Const:
		return depth == 1
	case *kind.Enum:
		return depth == 1 && len(k.Want) == 1
	}
	return false
}

// wrongAt reports whether something is wrong of a kind and so far below a place.
func wrongAt(err *jsonschema.ValidationError, at []string, is func(jsonschema.ErrorKind, int) bool) bool {
	depth := len(err.InstanceLocation) - len(at)
	if depth > 1 {
		return false
	}
	switch err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return slices.ContainsFunc(err.Causes, func(c *jsonschema.ValidationError) bool { return wrongAt(c, at, is) })
	case *kind.AnyOf, *kind.OneOf:
		return len(err.Causes) > 0 && !slices.ContainsFunc(err.Causes, func(c *jsonschema.ValidationError) bool { return !wrongAt(c, at, is) })
	}
	return is(err.ErrorKind, depth)
}
