// Tests of compile.go, form.go and losses.go with the tools of real servers and odd schemas.

package profile_test

import (
	"encoding/json"
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
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// checkers return what a provider would refuse of a declaration.
var checkers = map[profile.Provider]func(declaration []byte) []string{
	profile.OpenAI: providercheck.OpenAI, profile.OpenAIStrict: providercheck.OpenAI, profile.Anthropic: providercheck.Anthropic,
	profile.Gemini: providercheck.Gemini, profile.Bedrock: providercheck.Bedrock, profile.Ollama: providercheck.Ollama,
}

// realTools returns the tools of the recorded servers, as a registry would name them: by
// default a part for each provider, so that each tool is tried with some provider.
func realTools(p profile.Provider) []registry.Tool {
	share := assert.Cases(len(providers), 1)
	first := slices.Index(providers, p)
	var tools []registry.Tool
	for _, server := range toolcorpus.Servers() {
		for i, t := range server.Tools {
			if i%share != first%share {
				continue
			}
			name := names.ServerTool.Name(server.Name, t.Name)
			tools = append(tools, &described{def: registry.Definition{
				Name: name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
				Origin: registry.Origin{Server: server.Name, Tool: t.Name},
			}})
		}
	}
	return tools
}

// checkSchema reports whether a registry would take a schema.
func checkSchema(schema string) error { return schemagate.Check(json.RawMessage(schema)) }

// oddTools returns tools with the odd schemas, in the order of their names.
var oddTools = sync.OnceValue(func() []registry.Tool {
	odd := oddSchemas()
	var tools []registry.Tool
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		if checkSchema(odd[name]) == nil {
			tools = append(tools, toolOf(name, name, odd[name]))
		}
	}
	return tools
})

// someOf returns a third of a list, another one for the next provider; in full, all.
func someOf[T any](list []T, p profile.Provider) (some []T) {
	share := assert.Cases(3, 1)
	for i := slices.Index(providers, p) % share; i < len(list); i += share {
		some = append(some, list[i])
	}
	return some
}

// madeTools returns tools with schemas made by chance.
var madeTools = sync.OnceValue(func() []registry.Tool {
	var tools []registry.Tool
	for depth := range 4 {
		for i, schema := range madeSchemas(assert.Cases(5, 160), depth) {
			if checkSchema(schema) == nil {
				tools = append(tools, toolOf(fmt.Sprintf("made_%d_%d", depth, i), "", schema))
			}
		}
	}
	return tools
})

// Each provider takes what comes of each tool, and is told of each keyword, or a loss is.
func TestCorpus(t *testing.T) {
	//report: Models | router-for-me/CLIProxyAPI#1076, microsoft/azure-devops-mcp#139, microsoft/azure-devops-mcp#145, kensho-technologies/kfinance#128 | Gemini refuses enums of numbers | it is told of them in another form, and the server gets numbers
	//report: Models | decolua/9router#359, google-gemini/gemini-cli#4400 | Gemini refuses an enum without a type | it is told of one with a type
	//report: Models | mark3labs/mcphost#35, ooples/token-optimizer-mcp#153, ruvnet/ruflo#1294, nocobase/nocobase#9411 | a tool has an array without items, and OpenAI refuses the request with all tools | items are added for the providers that want them
	//report: Models | makenotion/notion-mcp-server#340, makenotion/notion-mcp-server#341, dodopayments/dodopayments-typescript#189, zereight/gitlab-mcp#550 | a tool has anyOf at the root, and Anthropic, OpenAI and Bedrock refuse the request with all tools | the alternatives are one object for them, and the arguments are held against the tool's own schema
	//report: Models | aliargun/mcp-server-gemini#12, ProfSynapse/nexus#6, opentokenz/mcpx#28 | the same of oneOf | the same
	//report: Models | anthropics/claude-code#95504 | a client drops tools with allOf or if at the root without a word | they are declared without, and a loss says so
	//report: Models | beautyfree/appstore-connect-mcp#1, erikmaday/unusual-whales-mcp#57, decocms/studio#6874, aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#709 | Anthropic and Bedrock refuse the request with all tools for a property whose name has brackets or blanks | the property has another name for them, and the server gets its own
	//report: Models | sbroenne/mcp-server-excel#607, Smana/runlore#40, BerriAI/litellm#14155, anomalyco/opencode#46676, router-for-me/CLIProxyAPI#4545 | Gemini refuses an enum with an empty text or null, also within a union | it is told of the other values, and a loss says so
	//report: Models | pizza-bot-app/pizza-bot#62, ahmadrosid/nakama#292, weave-os/router#809, fazer-ai/agents#64 | Gemini refuses exclusiveMinimum, which zod writes for positive numbers | of an integer it is told with minimum; the arguments are held against the tool's own schema
	//report: Models | diegosouzapw/OmniRoute#12540, MadAppGang/claudish#234, BerriAI/litellm#25718 | Gemini refuses prefixItems in parameters, and a list of tuples has no items without them | schemas go as parametersJsonSchema, which takes them beside a type, and it has one
	//report: Models | NousResearch/hermes-agent#20976, AlexGladkov/claude-in-mobile#55, zavora-ai/adk-rust#330 | Grok, Anthropic and Gemini refuse the tuples of draft 7, where items is a list | those who take tuples get prefixItems, the others what comes nearest
	//report: Models | BerriAI/litellm#40485, codefuturist/email-mcp#72 | OpenAI and llama.cpp refuse lookarounds and classes of Unicode in a pattern, with all tools of the request | such a pattern is not sent to OpenAI, Gemini and Ollama, and a loss says so
	//report: Models | Kilo-Org/kilocode#11955, probelabs/probe#569, MarkusPfundstein/mcp-obsidian#105, NousResearch/hermes-agent#64054 | Gemini refuses a required name that is no property, also in the items of a list | it is told of a property of that name, with any value
	//report: Models | google-gemini/gemini-cli#3178, aaif-goose/goose#1184, confluentinc/mcp-confluent#20, weave-os/router#387 | Gemini refuses formats such as uri and email | they are not sent as such
	//report: Models | DEEIX-AI/DEEIX-Chat#546, google-gemini/gemini-cli#13326, anomalyco/opencode#12295 | Gemini refuses references, or a client that drops them leaves a list without items | what they refer to is written out
	//report: Models | anomalyco/opencode#11889 | Gemini refuses properties of what is no object | they are not sent
	//report: Models | decolua/9router#2884 | a client that cleans schemas takes properties that are called properties or title for keywords | they are properties
	//report: Models | microsoft/pylance-release#7986 | a tool has a property called $schema, and Anthropic refuses the request with all tools | it has another name there, and the server gets its own
	//report: Models | BerriAI/litellm#13151, BerriAI/litellm#34328, pydantic/pydantic-ai#1598, googleapis/python-genai#319, OpenHands/software-agent-sdk#1955 | schemas that contain themselves end a client, or grow without end where references are written out | who takes references gets them; others are told to a depth and a size, and a loss says where that ends
	//report: Models | google-gemini/gemini-cli#5923, zereight/gitlab-mcp#223 | Gemini refuses a request with a schema that is too deep | it is told as deep as Gemini takes it
	//report: Models | langchain-ai/langchain-mcp-adapters#137, inboxapi/cli#106, mark3labs/mcphost#90, osaurus-ai/osaurus#2847 | a tool without arguments has no properties, and OpenAI refuses the request with all tools | there are none, said as OpenAI wants it
	//report: Models | ollama/ollama#5990, agno-agi/agno#1597, zeroclaw-labs/zeroclaw#5306 | Ollama and llama.cpp fail with types that are lists, such as of optional texts | Ollama is told of one in a form that it takes
	for _, p := range providers {
		for name, tools := range map[string][]registry.Tool{"real": realTools(p), "odd": someOf(oddTools(), p), "made": madeTools()} {
			t.Run(name+"/"+string(p), func(t *testing.T) {
				set := assert.Value(profile.Compile(p, tools, nil))(t)
				assert.Equal(t, len(set.Tools())+len(set.Rejected()), len(tools), "tools and rejections")
				for _, r := range set.Rejected() {
					if name == "real" || isSatisfiable(t, r.Definition.InputSchema) {
						t.Errorf("%s: got the rejection %v of\n\t%s", r.Definition.Name, r.Err, r.Definition.InputSchema)
					}
				}
				for _, c := range set.Tools() {
					def := c.Definition
					for _, refusal := range refusals(p, c) {
						t.Errorf("%s: got the refusal %s of\n\t%.600s\nmade of\n\t%.600s", def.Name, refusal, c.Declaration(), def.InputSchema)
					}
					for _, place := range silent(t, p, c) {
						t.Errorf("%s: got nothing of %s, want it or a loss in\n\t%.600s\nmade of\n\t%.600s\n\t%v", def.Name, place, c.Schema, def.InputSchema, c.Losses)
					}
				}
			})
		}
	}
}

// isSatisfiable reports whether arguments are found that fit a schema.
func isSatisfiable(t *testing.T, raw json.RawMessage) bool {
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

// refusals returns what the provider would refuse of a tool.
func refusals(p profile.Provider, c *profile.Tool) []string {
	list := checkers[p](c.Declaration())
	if p == profile.OpenAI || p == profile.OpenAIStrict {
		list = append(list, providercheck.OpenAIChat(c.ChatDeclaration())...)
	}
	return list
}

// audited are the keywords that silent looks for, with the type that they say something about;
// empty: any.
var audited = map[string]string{
	"contains": "array", "maxItems": "array", "minItems": "array", "uniqueItems": "array",
	"maxLength": "string", "minLength": "string", "pattern": "string", "maximum": "number", "minimum": "number", "multipleOf": "number",
	"dependentRequired": "object", "dependentSchemas": "object", "maxProperties": "object", "minProperties": "object", "patternProperties": "object",
	"propertyNames": "object", "if": "", "not": "",
}

// isAudited reports whether a keyword of a schema can refuse values of its types.
func isAudited(schema *node, key string) bool {
	about, known := audited[key]
	types := schema.Get("type")
	if !known || about == "" {
		return known
	}
	if types == nil {
		return false // what else has to fit may exclude values of the type
	}
	text := types.Write()
	return strings.Contains(text, about) || about == "number" && strings.Contains(text, "integer")
}

// silent returns the keywords of a tool's schema that the provider does not get, and of which
// no loss tells. It looks for them anywhere: that they mean the same there is up to
// TestCorpusBack and TestCorpusForth.
func silent(t *testing.T, p profile.Provider, c *profile.Tool) (places []string) {
	seen, err := providercheck.Read(c.Schema)
	if p == profile.Ollama {
		seen, err = providercheck.SeenByOllama(c.Declaration())
	}
	assert.OK(t, err)
	kept := map[string]bool{}
	providercheck.EachSchema("", seen, func(_ string, n *node) bool {
		for _, key := range n.Keys() {
			kept[key], kept[key+n.Get(key).Write()] = true, true
		}
		return true
	})
	schema := assert.Value(providercheck.Read(c.Definition.InputSchema))(t)
	lost := "" // what losses are about
	for _, l := range c.Losses {
		if v := schema.Resolve("#" + l.Path); v != nil {
			lost += v.Write()
		}
	}
	told := func(place, key string, v *node) bool {
		inDefinition := strings.HasPrefix(place, "/$defs/") || strings.HasPrefix(place, "/definitions/")
		return strings.Contains(lost, quoteJSON(key)+":"+v.Write()) || inDefinition || // nothing may refer to it

			slices.ContainsFunc(c.Losses, func(l profile.Loss) bool {
				return strings.HasSuffix(l.Detail, " more losses") || strings.HasSuffix(l.Path, "/"+key) || strings.HasPrefix(place+"/", strings.TrimSuffix(l.Path, "…")+"/")
			})
	}
	providercheck.EachSchema("", schema, func(place string, n *node) bool {
		for _, key := range n.Keys() {
			v, place := n.Get(key), providercheck.Member(place, key)
			merged := kept[key] && v.Is('0') && strings.Contains(place, "/allOf/") // the narrowest of several limits stays
			if isAudited(n, key) && !saysNothing(key, v) && !kept[key+v.Write()] && !merged && !told(place, key, v) {
				places = append(places, place)
			}
		}
		return true
	})
	return places
}

// saysNothing reports whether a schema with a keyword means what it means without.
func saysNothing(key string, v *node) bool {
	switch key {
	case "minLength", "minItems", "minProperties":
		return numberOf(v) == "0"
	case "uniqueItems", "deprecated", "readOnly":
		return v.Is('t') && v.Text == "false"
	case "description", "title", "$comment":
		return v.Says("")
	}
	return false
}

// The same tools give the same bytes, in a set with others too: the cache of a
// provider's prompt depends on it.
func TestCorpusIsDeterministic(t *testing.T) {
	for _, p := range providers[:assert.Cases(2, len(providers))] {
		among := map[*registry.Definition]*profile.Tool{}
		for _, c := range assert.Value(profile.Compile(p, slices.Concat(oddTools(), madeTools()), nil))(t).Tools() {
			among[c.Definition] = c
		}
		for _, alone := range assert.Value(profile.Compile(p, oddTools(), nil))(t).Tools() {
			other := among[alone.Definition]
			assert.Equal(t, string(other.Declaration()), string(alone.Declaration()), "%s", p)
			assert.Equal(t, fmt.Sprint(other.Losses), fmt.Sprint(alone.Losses), "%s, %s: the losses", p, alone.Name)
		}
	}
}

// Descriptions come through whole, but for what a provider refuses.
func TestCorpusDescriptions(t *testing.T) {
	for _, description := range []string{"", " ", "\n\t", "a\x00b", "a\U000e0041b", "bad \xff bytes", strings.Repeat("é", 1025), strings.Repeat("long ", 20000), "\u202e", `"quotes" \ and </script>`} {
		for _, p := range providers {
			set := assert.Value(profile.Compile(p, []registry.Tool{toolOf("t", description, `{"type":"object","properties":{}}`)}, nil))(t)
			for _, c := range set.Tools() {
				assert.Equal(t, strings.Join(refusals(p, c), "\n"), "", "%s: what is refused of %.20q", p, description)
			}
		}
	}
}
