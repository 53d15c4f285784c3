// Tests of unmap.go and codec.go: arguments of models are turned back, those of tools can be written.

package profile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/providercheck"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A trip is a schema and what became of it, ready to check values.
type trip struct {
	schema, compiled *node
	takes, asks      *schemagate.Schema
	tool             *profile.Tool
}

// tripsOf returns the trips of schemas to a provider. What does not compile, the registry
// refuses.
func tripsOf(t *testing.T, p profile.Provider) (list []trip) {
	odd := oddSchemas()
	var schemas []string
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		if len(odd[name]) < 4_000 {
			schemas = append(schemas, odd[name])
		}
	}
	for depth, n := range []int{assert.Cases(4, 160), assert.Cases(8, 240), assert.Cases(2, 100)} {
		schemas = append(schemas, madeSchemas(n, depth)...)
	}
	for _, schema := range someOf(schemas, p) {
		takes, err := schemagate.Compile(json.RawMessage(schema))
		if err != nil {
			continue
		}
		c := compiled(t, p, schema)
		list = append(list, trip{
			assert.Value(providercheck.Read([]byte(schema)))(t), assert.Value(providercheck.Read(c.Schema))(t),
			takes, assert.Value(schemagate.Compile(c.Schema))(t), c,
		})
	}
	return list
}

// looser reports whether losses tell of what keeps arguments from fitting, by its place.
func (tr trip) looser(args json.RawMessage) bool {
	if strings.Contains(string(tr.tool.Definition.InputSchema), `"$ref"`) {
		return hasEffect(tr.tool, profile.Looser) // its places are not those of the values
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
	return hasEffect(tr.tool, profile.Looser)
}

func (tr trip) String() string {
	return fmt.Sprintf("\n\t%.700s\n\t%.700s\n\t%v", tr.tool.Definition.InputSchema, tr.tool.Schema, tr.tool.Losses)
}

func canonical(value []byte) string {
	raw, err := canonjson.Append(nil, value)
	if err != nil {
		return "not JSON: " + string(value)
	}
	return string(raw)
}

// What a model writes by the compiled schema fits the tool's own, once it is turned back; and
// what fits the tool's own can be written, and is taken as it is: unless a loss says that not.
func TestCorpusTrips(t *testing.T) {
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			r := rand.New(rand.NewPCG(2, 3))
			trips := tripsOf(t, p)
			back, forth := 0, 0
			for _, tr := range trips {
				for range assert.Cases(3, 8) {
					w := &writer{r: r, root: tr.compiled}
					if args := json.RawMessage(w.value(tr.compiled, 3)); args[0] == '{' && tr.asks.Validate(args) == nil {
						back++
						tr.checkBack(t, args)
					}
					w = &writer{r: r, root: tr.schema}
					if args := json.RawMessage(w.value(tr.schema, 3)); args[0] == '{' && tr.takes.Validate(args) == nil {
						forth++
						tr.checkAsItIs(t, args)
						if !hasEffect(tr.tool, profile.Narrower) && !tells(tr.tool, "it is called") && !tr.canWrite(args) {
							t.Errorf("got no way to write %s, want one or a loss%v", args, tr)
						}
					}
				}
			}
			if back < 2*len(trips) || forth < 2*len(trips) {
				t.Errorf("got %d values of models and %d of the tools, want two for each of %d schemas", back, forth, len(trips))
			}
		})
	}
}

// checkBack checks that what a model wrote is turned back into what fits.
func (tr trip) checkBack(t *testing.T, args json.RawMessage) {
	back, err := tr.tool.Unmap(args)
	if err == nil {
		err = tr.takes.Validate(back)
	}
	assert.False(t, err != nil && !tr.looser(back), "got %s of %s, want what fits: %v%v", back, args, err, tr)
}

// checkAsItIs checks that arguments in the tool's own form are taken, though another was
// asked for, and to the byte if none was.
func (tr trip) checkAsItIs(t *testing.T, args json.RawMessage) {
	back, err := tr.tool.Unmap(args)
	switch {
	case err != nil:
		t.Errorf("got the error %v of %s, want it taken as it is%v", err, args, tr)
	case tr.tool.Strict && bytes.Contains(args, []byte("null")):
		// null means that a property is missing
	case !hasEffect(tr.tool, profile.Recoded) && string(back) != string(args):
		t.Errorf("got %s, want %s to the byte%v", back, args, tr)
	case tr.takes.Validate(back) != nil:
		t.Errorf("got %s of %s, want what fits%v", back, args, tr)
	}
}

// canWrite reports whether a value of the tool can be written as the compiled schema wants it.
func (tr trip) canWrite(args json.RawMessage) bool {
	value, err := providercheck.Read(args)
	if err != nil {
		return true
	}
	for _, form := range append([]string{string(args)}, (&encoder{tr.compiled}).forms(value, tr.compiled, 0)...) {
		if tr.asks.Validate(json.RawMessage(form)) != nil {
			continue
		}
		if back, err := tr.tool.Unmap(json.RawMessage(form)); err == nil && canonical(back) == canonical(args) {
			return true
		}
	}
	return false
}
