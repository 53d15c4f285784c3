package profile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/providercheck"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A trip is a schema and what became of it, ready to check values.
type trip struct {
	schema, compiled *node
	takes, asks      *schemagate.Schema
	tool             *profile.Tool
}

// A source is a schema of the trips.
type source struct {
	text  string
	node  *node
	takes *schemagate.Schema
}

// tripSources has what is the same for all providers. What does not compile, the
// registry refuses.
var tripSources = sync.OnceValue(func() []source {
	var list []source
	for _, schema := range corpusTripSchemas() {
		if takes, err := schemagate.Compile(json.RawMessage(schema)); err == nil {
			from, _ := providercheck.Read([]byte(schema))
			list = append(list, source{schema, from, takes})
		}
	}
	return list
})

// tripsOf has the trips by their provider: those back and those forth are of the same
// schemas.
var tripsOf = func() map[profile.Provider]func() ([]trip, error) {
	all := map[profile.Provider]func() ([]trip, error){}
	for _, p := range corpusProviderNames() {
		all[p] = sync.OnceValues(func() ([]trip, error) { return compileTrips(p) })
	}
	return all
}()

// compileTrips compiles schemas for a provider.
func compileTrips(p profile.Provider) (list []trip, err error) {
	for i, from := range tripSources() {
		set, err := profile.Compile(p, []registry.Tool{corpusTool(fmt.Sprintf("t%d", i), "", from.text)}, nil)
		if err != nil || len(set.Tools()) == 0 {
			return nil, fmt.Errorf("%v, %v: %s", err, set.Rejected(), from.text)
		}
		compiled := set.Tools()[0]
		asks, err := schemagate.Compile(compiled.Schema)
		if err != nil {
			return nil, fmt.Errorf("%v\n\t%.500s\n\t%.500s", err, from.text, compiled.Schema)
		}
		to, err := providercheck.Read(compiled.Schema)
		if err != nil {
			return nil, err
		}
		list = append(list, trip{from.node, to, from.takes, asks, compiled})
	}
	return list, nil
}

// corpusTrips returns the trips of a provider.
func corpusTrips(t *testing.T, p profile.Provider) []trip {
	t.Helper()
	list := assert.Value(tripsOf[p]())(t)
	return list
}

// lost tells whether there is a loss of an effect.
func (tr trip) lost(effect profile.Effect) bool {
	return slices.ContainsFunc(tr.tool.Losses, func(l profile.Loss) bool { return l.Effect == effect })
}

// looser tells whether losses tell of what keeps arguments from fitting, by its place.
func (tr trip) looser(args json.RawMessage) bool {
	if strings.Contains(string(tr.tool.Definition.InputSchema), `"$ref"`) {
		return tr.lost(profile.Looser) // its places are not those of the values
	}
	for _, problem := range tr.takes.Problems(args) {
		at := strings.FieldsFunc(problem.Path, func(r rune) bool { return strings.ContainsRune(`.[]"`, r) })
		told := slices.ContainsFunc(tr.tool.Losses, func(l profile.Loss) bool {
			steps := strings.Split(l.Path, "/")
			for i, step := range steps {
				if step == "properties" && i+1 < len(steps) && len(at) > 0 && !strings.Contains(steps[i+1], "~") {
					return l.Effect == profile.Looser && (steps[i+1] == at[0] || !slices.Contains(tr.schema.Get("properties").Keys(), at[0]))
				}
			}
			return l.Effect == profile.Looser
		})
		if !told {
			return false
		}
	}
	return tr.lost(profile.Looser)
}

func (tr trip) has(kind profile.Kind) bool {
	return slices.ContainsFunc(tr.tool.Losses, func(l profile.Loss) bool { return l.Kind == kind })
}

func (tr trip) String() string {
	return fmt.Sprintf("\n\t%.700s\n\t%.700s\n\t%v", tr.tool.Definition.InputSchema, tr.tool.Schema, tr.tool.Losses)
}

func corpusCanonical(value []byte) string {
	raw, err := canonjson.Append(nil, value)
	if err != nil {
		return "not JSON: " + string(value)
	}
	return string(raw)
}

func corpusTripSchemas() []string {
	odd := corpusOddSchemas()
	var schemas []string
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		if len(odd[name]) < 4_000 {
			schemas = append(schemas, odd[name])
		}
	}
	schemas = append(schemas, corpusMadeSchemas(160, 0)...)
	schemas = append(schemas, corpusMadeSchemas(240, 1)...)
	return append(schemas, corpusMadeSchemas(100, 2)...)
}

// What a model writes by the compiled schema fits the tool's own, once it is turned
// back, unless it is told that it may not.
func TestCorpusBack(t *testing.T) {
	for _, p := range corpusProviderNames() {
		t.Run(string(p), func(t *testing.T) {
			problems := &corpusTally{t: t}
			defer problems.done()
			r := rand.New(rand.NewPCG(2, 3))
			tried, looser := 0, 0
			for _, tr := range corpusTrips(t, p) {
				w := &writer{r: r, root: tr.compiled}
				for range tripValues {
					args := json.RawMessage(w.value(tr.compiled, 3))
					if args[0] != '{' || tr.asks.Validate(args) != nil {
						continue
					}
					tried++
					back, err := tr.tool.Unmap(args)
					if err == nil {
						err = tr.takes.Validate(back)
					}
					switch {
					case err == nil:
					case tr.looser(back):
						looser++
					default:
						problems.report("does not fit", "%s became %s: %v%v", args, back, err, tr)
					}
				}
			}
			t.Logf("%d values, of which %d do not fit and are told of", tried, looser)
			if tried < 2*len(tripSources()) {
				t.Errorf("only %d values", tried)
			}
		})
	}
}

// What fits the tool's own schema can be written for the compiled one, unless it is
// told that it cannot, and is taken as it is.
func TestCorpusForth(t *testing.T) {
	for _, p := range corpusProviderNames() {
		t.Run(string(p), func(t *testing.T) {
			problems := &corpusTally{t: t}
			defer problems.done()
			r := rand.New(rand.NewPCG(4, 5))
			tried, narrower := 0, 0
			for _, tr := range corpusTrips(t, p) {
				w := &writer{r: r, root: tr.schema}
				for range tripValues {
					args := json.RawMessage(w.value(tr.schema, 3))
					if args[0] != '{' || tr.takes.Validate(args) != nil {
						continue
					}
					tried++
					tr.natural(problems, args)
					if !tr.express(args) {
						if tr.lost(profile.Narrower) {
							narrower++
						} else if !tr.has(profile.PropertyRenamed) {
							problems.report("cannot be written", "%s%v", args, tr)
						}
					}
				}
			}
			t.Logf("%d values, of which %d cannot be written and are told of", tried, narrower)
			if tried < 2*len(tripSources()) {
				t.Errorf("only %d values", tried)
			}
		})
	}
}

// natural checks that arguments in the tool's own form are taken, though another was
// asked for, and to the byte if none was.
func (tr trip) natural(problems *corpusTally, args json.RawMessage) {
	back, err := tr.tool.Unmap(args)
	switch {
	case err != nil:
		problems.report("not taken as it is", "%s: %v%v", args, err, tr)
	case tr.has(profile.NullForMissing) && bytes.Contains(args, []byte("null")):
		// null means that a property is missing
	case !tr.lost(profile.Recoded) && string(back) != string(args):
		problems.report("not to the byte", "%s became %s%v", args, back, tr)
	case tr.takes.Validate(back) != nil:
		problems.report("spoilt", "%s became %s%v", args, back, tr)
	}
}

// express tells whether a value of the tool can be written as the compiled schema
// wants it.
func (tr trip) express(args json.RawMessage) bool {
	value, err := providercheck.Read(args)
	if err != nil {
		return true
	}
	want := corpusCanonical(args)
	for _, form := range append([]string{string(args)}, (&encoder{tr.compiled}).forms(value, tr.compiled, 0)...) {
		if tr.asks.Validate(json.RawMessage(form)) != nil {
			continue
		}
		if back, err := tr.tool.Unmap(json.RawMessage(form)); err == nil && corpusCanonical(back) == want {
			return true
		}
	}
	return false
}
