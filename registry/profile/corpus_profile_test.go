package profile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/providercheck"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

type (
	node = providercheck.Node
	// A checker returns what a provider would refuse of a declaration.
	checker func(declaration []byte) []string
)

// A corpusListed tool has a definition, and cannot be called.
type corpusListed struct{ def *registry.Definition }

func (l corpusListed) Definition() *registry.Definition { return l.def }

func (l corpusListed) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return nil, errors.New("not called here")
}

func corpusTool(name, description, schema string) registry.Tool {
	return corpusListed{&registry.Definition{Name: name, Description: description, InputSchema: json.RawMessage(schema)}}
}

// corpusProviders returns all of them, each with the checkers of its declarations.
func corpusProviders() map[profile.Provider]checker {
	return map[profile.Provider]checker{
		profile.OpenAI:       providercheck.OpenAI,
		profile.OpenAIStrict: providercheck.OpenAI,
		profile.Anthropic:    providercheck.Anthropic,
		profile.Gemini:       providercheck.Gemini,
		profile.Bedrock:      providercheck.Bedrock,
		profile.Ollama:       providercheck.Ollama,
	}
}

func corpusProviderNames() []profile.Provider { return slices.Sorted(maps.Keys(corpusProviders())) }

// corpusRealTools returns the tools of the recorded servers, as a registry would name them.
var corpusRealTools = sync.OnceValue(func() []registry.Tool {
	var tools []registry.Tool
	for _, server := range toolcorpus.Servers() {
		for _, t := range server.Tools {
			name, _ := names.Names{}.Name(server.Name, t.Name)
			tools = append(tools, corpusListed{&registry.Definition{
				Name: name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
				Origin: registry.Origin{Server: server.Name, Tool: t.Name},
			}})
		}
	}
	return tools
})

// corpusRealShare returns the real tools that are tried with a provider: with the race
// detector, one of realShare, so that each tool is tried with some provider.
func corpusRealShare(p profile.Provider) []registry.Tool {
	first := slices.Index(corpusProviderNames(), p)
	var tools []registry.Tool
	for i, tool := range corpusRealTools() {
		if i%realShare == first%realShare {
			tools = append(tools, tool)
		}
	}
	return tools
}

// corpusOddTools returns tools with the odd schemas, in the order of their names.
var corpusOddTools = sync.OnceValue(func() []registry.Tool {
	odd := corpusOddSchemas()
	var tools []registry.Tool
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		if corpusPassGate(odd[name]) == nil {
			tools = append(tools, corpusTool(name, name, odd[name]))
		}
	}
	return tools
})

// realSets and oddSets compile the tools for a provider, once for several tests.
var (
	realSets = compileOnce(corpusRealShare)
	oddSets  = compileOnce(func(profile.Provider) []registry.Tool { return corpusOddTools() })
)

func compileOnce(tools func(profile.Provider) []registry.Tool) map[profile.Provider]func() (*profile.Set, error) {
	sets := map[profile.Provider]func() (*profile.Set, error){}
	for _, p := range corpusProviderNames() {
		sets[p] = sync.OnceValues(func() (*profile.Set, error) { return profile.Compile(p, tools(p), nil) })
	}
	return sets
}

// A corpusTally counts problems, and tells some of each sort.
type corpusTally struct {
	t     *testing.T
	count map[string]int
}

// report fails for a problem of a sort.
func (c *corpusTally) report(sort, format string, args ...any) {
	c.t.Helper()
	if c.count == nil {
		c.count = map[string]int{}
	}
	if c.count[sort]++; c.count[sort] <= 4 {
		c.t.Errorf("%s: %s", sort, fmt.Sprintf(format, args...))
	}
}

func (c *corpusTally) done() {
	c.t.Helper()
	for _, sort := range slices.Sorted(maps.Keys(c.count)) {
		if c.count[sort] > 4 {
			c.t.Errorf("%s: %d in all", sort, c.count[sort])
		}
	}
}

// corpusCheck checks all that came of tools compiled for a provider.
func corpusCheck(t *testing.T, p profile.Provider, tools []registry.Tool, set *profile.Set, err error) {
	t.Helper()
	assert.OK(t, err)
	problems := &corpusTally{t: t}
	defer problems.done()
	for _, r := range set.Rejected() {
		if corpusSatisfiable(t, r.Definition.InputSchema) {
			problems.report("rejected", "%s: %v\n\t%s", r.Definition.Name, r.Err, r.Definition.InputSchema)
		}
	}
	if len(set.Tools())+len(set.Rejected()) != len(tools) {
		t.Errorf("%d tools and %d rejected of %d", len(set.Tools()), len(set.Rejected()), len(tools))
	}
	listed := map[string]bool{}
	for _, compiled := range set.Tools() {
		def := compiled.Definition
		if listed[compiled.Name] {
			problems.report("name", "%q twice", compiled.Name)
		}
		listed[compiled.Name] = true
		if again, ok := set.Lookup(compiled.Name); !ok || again != compiled {
			problems.report("lookup", "%q is not found", compiled.Name)
		}
		if compiled.Name != def.Name && !slices.ContainsFunc(compiled.Losses, func(l profile.Loss) bool { return l.Kind == profile.NameChanged }) {
			problems.report("name", "%q became %q without a word", def.Name, compiled.Name)
		}
		for _, v := range corpusRefusals(p, compiled) {
			_, sort, _ := strings.Cut(v, ": ")
			problems.report("refused: "+sort, "%s: %s\n\t%.600s\n\t%.600s", def.Name, v, def.InputSchema, compiled.Declaration())
		}
		for _, place := range corpusSilent(t, p, compiled) {
			problems.report("silent: "+place[strings.LastIndex(place, "/"):], "%s: %s\n\t%.600s\n\t%.600s\n\t%v", def.Name, place, def.InputSchema, compiled.Schema, compiled.Losses)
		}
	}
	t.Log(corpusSummary(set))
}

// corpusSatisfiable tells whether arguments are found that fit a schema.
func corpusSatisfiable(t *testing.T, raw json.RawMessage) bool {
	n := assert.Value(providercheck.Read(raw))(t)
	schema, err := schemagate.Compile(raw)
	if err != nil {
		return false
	}
	w := &writer{r: rand.New(rand.NewPCG(6, 7)), root: n}
	for range 200 {
		if args := w.value(n, 3); args[0] == '{' && schema.Validate(json.RawMessage(args)) == nil {
			return true
		}
	}
	return false
}

// corpusRefusals returns what the provider would refuse of a tool.
func corpusRefusals(p profile.Provider, compiled *profile.Tool) []string {
	list := corpusProviders()[p](compiled.Declaration())
	if p == profile.OpenAI || p == profile.OpenAIStrict {
		list = append(list, providercheck.OpenAIChat(compiled.ChatDeclaration())...)
	}
	return list
}

// corpusSilent returns what the provider does not get, and no loss tells.
func corpusSilent(t *testing.T, p profile.Provider, compiled *profile.Tool) []string {
	schema := assert.Value(providercheck.Read(compiled.Definition.InputSchema))(t)
	seen, err := providercheck.Read(compiled.Schema)
	if p == profile.Ollama {
		seen, err = providercheck.SeenByOllama(compiled.Declaration())
	}
	if err != nil {
		t.Errorf("%s: %v", compiled.Name, err)
		return nil
	}
	return audit(schema, seen, compiled.Losses)
}

// corpusSummary tells what became of the tools.
func corpusSummary(set *profile.Set) string {
	kinds, effects, unchanged := map[string]int{}, map[string]int{}, 0
	for _, compiled := range set.Tools() {
		if len(compiled.Losses) == 0 {
			unchanged++
		}
		of := map[string]bool{}
		for _, loss := range compiled.Losses {
			of[string(loss.Effect)] = true
			kinds[string(loss.Kind)]++
		}
		for effect := range of {
			effects[effect]++
		}
	}
	tell := func(m map[string]int) string {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, fmt.Sprintf("%s %d", key, m[key]))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%d tools, %d without a loss; tools with losses: %s; losses: %s", len(set.Tools()), unchanged, tell(effects), tell(kinds))
}

func TestCorpusRealTools(t *testing.T) {
	if n := len(corpusRealTools()); n < 300 {
		t.Fatalf("only %d tools", n)
	}
	for _, p := range corpusProviderNames() {
		t.Run(string(p), func(t *testing.T) {
			set, err := realSets[p]()
			corpusCheck(t, p, corpusRealShare(p), set, err)
			if len(set.Rejected()) > 0 {
				t.Errorf("%d rejected", len(set.Rejected()))
			}
		})
	}
}

// The same tools give the same bytes, in a set with others too: the cache of a
// provider's prompt depends on it.
func TestCorpusIsDeterministic(t *testing.T) {
	for _, p := range corpusProviderNames() {
		tools := slices.Concat(corpusOddTools(), corpusRealShare(p))
		all := assert.Value(profile.Compile(p, tools, nil))(t)
		among := map[*registry.Definition]*profile.Tool{}
		for _, compiled := range all.Tools() {
			among[compiled.Definition] = compiled
		}
		compared := 0
		for _, part := range []func() (*profile.Set, error){oddSets[p], realSets[p]} {
			set := assert.Value(part())(t)
			for _, alone := range set.Tools() {
				compared++
				if other := among[alone.Definition]; other == nil || !bytes.Equal(alone.Declaration(), other.Declaration()) || !slices.Equal(alone.Losses, other.Losses) {
					t.Errorf("%s: %s differs among others", p, alone.Name)
				}
			}
		}
		if compared < len(tools)/2 || compared != len(all.Tools()) {
			t.Errorf("%s: %d tools compared of %d", p, compared, len(tools))
		}
	}
}

func TestCorpusOddSchemas(t *testing.T) {
	for _, p := range corpusProviderNames() {
		t.Run(string(p), func(t *testing.T) {
			set, err := oddSets[p]()
			corpusCheck(t, p, corpusOddTools(), set, err)
		})
	}
}

func TestCorpusMadeSchemas(t *testing.T) {
	var tools []registry.Tool
	for depth := range 4 {
		for i, schema := range corpusMadeSchemas(160, depth) {
			if corpusPassGate(schema) == nil {
				tools = append(tools, corpusTool(fmt.Sprintf("made_%d_%d", depth, i), "", schema))
			}
		}
	}
	for _, p := range corpusProviderNames() {
		t.Run(string(p), func(t *testing.T) {
			set, err := profile.Compile(p, tools, nil)
			corpusCheck(t, p, tools, set, err)
		})
	}
}

// Names are those that a provider takes, and told apart, whatever they were.
func TestCorpusNames(t *testing.T) {
	listed := []string{"a", "a.b", "a_b", "a-b", "a b", "a/b", "a:b", "a__b", "1st", "-x", ".x", "_x", "é", "日本語", "A", "get", "Get", "GET", "\U0001F600", "a\u202eb",
		strings.Repeat("n", 64), strings.Repeat("n", 65), strings.Repeat("n", 128), strings.Repeat("n", 129), strings.Repeat("n", 255), strings.Repeat("n", 255) + "x", strings.Repeat("é", 100), "a.b_", "a_b_"}
	var tools []registry.Tool
	for _, name := range listed {
		tools = append(tools, corpusTool(name, "", `{"type":"object","properties":{}}`))
	}
	for _, p := range corpusProviderNames() {
		for _, deferred := range []bool{false, true} {
			set := assert.Value(profile.Compile(p, tools, &profile.Options{Deferred: func(*registry.Definition) bool { return deferred }}))(t)
			if len(set.Tools()) != len(listed) {
				t.Errorf("%s: %d of %d, %v", p, len(set.Tools()), len(listed), set.Rejected())
			}
			seen := map[string]string{}
			for _, compiled := range set.Tools() {
				if other, ok := seen[compiled.Name]; ok {
					t.Errorf("%s: %q and %q became %q", p, other, compiled.Definition.Name, compiled.Name)
				}
				seen[compiled.Name] = compiled.Definition.Name
				for _, v := range corpusRefusals(p, compiled) {
					t.Errorf("%s: %q: %s", p, compiled.Definition.Name, v)
				}
				if name, _, err := set.Unmap(compiled.Name, json.RawMessage(`{}`)); err != nil || name != compiled.Definition.Name {
					t.Errorf("%s: %q stands for %q, %v", p, compiled.Name, name, err)
				}
			}
		}
	}
}

// Descriptions come through whole, but for what a provider refuses.
func TestCorpusDescriptions(t *testing.T) {
	for _, description := range []string{"", " ", "\n\t", "a\x00b", "a\U000e0041b", "bad \xff bytes", strings.Repeat("é", 1025), strings.Repeat("long ", 20000), "\u202e", `"quotes" \ and </script>`} {
		for _, p := range corpusProviderNames() {
			set := assert.Value(profile.Compile(p, []registry.Tool{corpusTool("t", description, `{"type":"object","properties":{}}`)}, nil))(t)
			for _, compiled := range set.Tools() {
				for _, v := range corpusRefusals(p, compiled) {
					t.Errorf("%s: %.20q: %s", p, description, v)
				}
			}
		}
	}
}
