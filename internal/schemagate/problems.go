package schemagate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A Problem is one thing that keeps a value from fitting, and an error. It tells
// what is there by its kind only, never by its content. Text of the schema in it is
// shortened, and safe at a terminal.
type Problem struct {
	// Path is the place as it is written in programs, such as items[0].name, cut
	// off if it is long; empty for the whole.
	Path string
	// Want is what must be there, such as "an integer"; empty if the member is not
	// known.
	Want string
	// Got is what is there, such as "a string"; empty if the member is missing.
	Got string
	// Note is what else helps: what a missing member is for, or what asks for it.
	Note string
	// Name is the name of a member that is not known, and Known are some of the
	// names that are.
	Name  string
	Known []string
}

// Error returns the problem as one line.
func (p *Problem) Error() string {
	where := "the value"
	if p.Path != "" {
		where = p.Path
	}
	switch {
	case p.Want == "":
		return where + ": not known"
	case p.Got == "":
		return where + ": want " + p.Want + ", got nothing"
	}
	return where + ": want " + p.Want + ", got " + p.Got
}

// MaxProblems is how many problems of a value are told at most.
const MaxProblems = 9

// Problems returns what keeps a value from fitting, in the order of the places,
// at most [MaxProblems]; none if it fits. It is to [Schema.Validate] what a list
// is to its first line.
func (s *Schema) Problems(value []byte) []Problem { return s.problems(value, allowance(value)) }

func (s *Schema) problems(value []byte, steps int) []Problem {
	v := s.judge(value, steps)
	switch {
	case v.fits():
		return nil
	case v.syntax != nil:
		return []Problem{unreadable(value, v.syntax)}
	}
	return s.report(&v).problems()
}

// CheckSyntax checks that a value is JSON that everybody reads in the same way,
// and returns what is wrong, or nil.
func CheckSyntax(value []byte) *Problem {
	err := jsonscan.Valid(value)
	if err == nil {
		return nil
	}
	return new(unreadable(value, err))
}

// A report collects what is wrong with a value.
type report struct {
	*parts
	value  any
	unread *Problem
	total  int
	lines  []line // the first ones in order
}

// A line is one thing wrong, not yet in words.
type line struct {
	at     []string // place of the value
	place  []string // the same, or that of the member
	member string   // that is missing, or too many, in the object there
	err    *jsonschema.ValidationError
}

// maxLines is how many lines are kept: more than are told, for some say the same.
const maxLines = 64

func (s *Schema) report(v *verdict) *report {
	r := &report{parts: s.known(), value: v.value, unread: v.unread}
	if v.unread != nil {
		r.total = 1
		return r
	}
	r.collect(v.why)
	return r
}

// collect adds all that an error is made of.
func (r *report) collect(err *jsonschema.ValidationError) {
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			r.collect(cause)
		}
	case *kind.AnyOf:
		r.alternative(err)
	case *kind.OneOf:
		if k.Subschemas == nil {
			r.alternative(err)
		} else {
			r.add(line{at: err.InstanceLocation, err: err})
		}
	case *kind.Required:
		r.addMembers(err, k.Missing)
	case *kind.Dependency:
		r.addMembers(err, k.Missing)
	case *kind.DependentRequired:
		r.addMembers(err, k.Missing)
	case *kind.AdditionalProperties:
		r.addMembers(err, k.Properties)
	case *kind.PropertyNames:
		r.addMembers(err, []string{k.Property})
	default:
		r.add(line{at: err.InstanceLocation, err: err})
	}
}

// alternative adds what is wrong with the only alternative that is for values of this kind, or
// that the value fits none.
func (r *report) alternative(err *jsonschema.ValidationError) {
	_, value := place(r.value, err.InstanceLocation)
	var branches []*jsonschema.Schema
	if s := r.byLocation[err.SchemaURL]; s != nil {
		branches = slices.Concat(s.AnyOf, s.OneOf)
	}
	var left []*jsonschema.ValidationError
	for i, cause := range err.Causes {
		if len(branches) != len(err.Causes) || r.kinds[branches[i]]&kindsOfValue(value) != 0 {
			left = append(left, cause)
		}
	}
	if len(left) == 1 {
		r.collect(left[0])
	} else {
		r.add(line{at: err.InstanceLocation, err: err})
	}
}

func (r *report) addMembers(err *jsonschema.ValidationError, names []string) {
	for _, name := range names {
		place := append(slices.Clone(err.InstanceLocation), name)
		r.add(line{at: err.InstanceLocation, place: place, member: name, err: err})
	}
}

func (r *report) add(l line) {
	if l.place == nil {
		l.place = l.at
	}
	r.total++
	i, _ := slices.BinarySearchFunc(r.lines, l, inOrder)
	if i < maxLines {
		r.lines = slices.Insert(r.lines, i, l)
		r.lines = r.lines[:min(len(r.lines), maxLines)]
	}
}

// inOrder orders lines by their place in the value, and by the schema.
func inOrder(a, b line) int {
	return cmp.Or(
		comparePlaces(a.place, b.place),
		strings.Compare(a.err.SchemaURL, b.err.SchemaURL),
		slices.Compare(a.err.ErrorKind.KeywordPath(), b.err.ErrorKind.KeywordPath()),
	)
}

// problems puts the report into words.
func (r *report) problems() []Problem {
	if r.unread != nil {
		return []Problem{*r.unread}
	}
	var all []Problem
	for _, l := range r.lines {
		p := r.word(l)
		if !slices.ContainsFunc(all, func(o Problem) bool { return o.Path == p.Path && o.Want == p.Want && o.Got == p.Got }) {
			all = append(all, p)
		}
		if len(all) == MaxProblems {
			break
		}
	}
	return all
}

// comparePlaces orders places as the parts of a value come: what stands within
// another after it, and elements by number.
func comparePlaces(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		m, errA := strconv.Atoi(a[i])
		n, errB := strconv.Atoi(b[i])
		if errA == nil && errB == nil && m != n {
			return cmp.Compare(m, n)
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}
