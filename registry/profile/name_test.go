package profile_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func namesOf(t testing.TB, p profile.Provider, opts *profile.Options, names ...string) []string {
	t.Helper()
	var tools []registry.Tool
	for _, name := range names {
		tools = append(tools, tool(name, `{"type":"object"}`))
	}
	set, err := profile.Compile(p, tools, opts)
	assert.OK(t, err)
	assert.Equal(t, len(set.Tools()), len(names))
	var all []string
	for _, c := range set.Tools() {
		all = append(all, c.Name)
		found, _ := set.Lookup(c.Name)
		assert.Equal(t, found, c, "%s", c.Name)
		changed := tells(c, "it is called")
		assert.Equal(t, changed, c.Name != c.Definition.Name, "%v", c.Losses)
		back, _, err := set.Unmap(c.Name, nil)
		assert.OK(t, err, "%s", c.Name)
		assert.Equal(t, back, c.Definition.Name, "%s", c.Name)
	}
	return all
}

func TestNames(t *testing.T) {
	rules := map[profile.Provider]*regexp.Regexp{
		profile.OpenAI:       regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		profile.OpenAIStrict: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		profile.Anthropic:    regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
		profile.Gemini:       regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`),
		profile.Bedrock:      regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		profile.Ollama:       regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	}
	names := []string{
		//report: Models | awslabs/mcp#2395, microsoft/pylance-release#8155, NousResearch/hermes-agent#54863, openai/codex#1289, nanbingxyz/5ire#403 | a name has more than 64 characters with the client's prefix, and Bedrock and OpenAI refuse the request with all tools | a longer one is cut, with a hash, and means the same tool
		"get_cloudformation_pre_deploy_validation_instructions_mcp_aws-iac-mcp-server",
		//report: Models | rikkahub/rikkahub#1511, xorbitsai/xagent#1342, mastergo-design/mastergo-magic-mcp#36 | DeepSeek and others refuse names of tools with dots, blanks or Chinese letters | those are replaced, and two stay two
		"coding.start", "coding start", "coding_start",
		"github__create_issue", "a", "1st", "-x", "a.b", "a_b", "a:b", "ä", "ö", "日本", "日 本", "🙂", ".", "..", " ", "a b", "a  b", "A b",
		strings.Repeat("n", 64), strings.Repeat("n", 65), strings.Repeat("n", 128), strings.Repeat("n", 129), strings.Repeat("é", 128),
		strings.Repeat("n", 64) + "a", strings.Repeat("n", 64) + "b", "_", "__proto__", "tool/with/slash", "a\u202eb",
	}
	for p, rule := range rules {
		t.Run(string(p), func(t *testing.T) {
			all := namesOf(t, p, nil, names...)
			seen := map[string]bool{}
			for i, name := range all {
				assert.True(t, rule.MatchString(name), "%q, which became %q, is taken", names[i], name)
				assert.False(t, seen[name], "%q, which became %q, is the name of another", names[i], name)
				seen[name] = true
				if rule.MatchString(names[i]) {
					assert.Equal(t, name, names[i], "what is taken as it is")
				}
			}
			// A name does not depend on the others, nor on their order.
			for i, name := range names {
				assert.Equal(t, namesOf(t, p, nil, name)[0], all[i], "%q", name)
			}
			back := slices.Clone(names)
			slices.Reverse(back)
			reversed := namesOf(t, p, nil, back...)
			slices.Reverse(reversed)
			assert.Equal(t, fmt.Sprintf("%q", reversed), fmt.Sprintf("%q", all))
		})
	}
}

// TestRenamedSaysItsName has names that providers do not take in the descriptions.
func TestRenamedSaysItsName(t *testing.T) {
	const pair = `{"type":"object","properties":{"番号":{"type":"string"},"日付":{"type":"string","description":"日付 of it"},"filter[id]":{"type":"integer","description":"Which."},"plain":{"type":"string"}}}`
	//report: Models | freee/freee-mcp#35, freee/freee-mcp#15, saidsurucu/ihale-mcp#2, ComposioHQ/composio#3500 | Anthropic refuses names of properties beyond ASCII or with $ and @; other names that servers or clients make up tell the model nothing | the description begins with the name that the property had
	for p, want := range map[profile.Provider]int{profile.Anthropic: 1, profile.Bedrock: 1, profile.OpenAI: 0} {
		schema := string(compiled(t, p, pair).Schema)
		assert.Equal(t, strings.Count(schema, `"description":"番号"`), want, "%s: descriptions that are the name alone: %s", p, schema)
		assert.Equal(t, strings.Count(schema, `"description":"日付 of it"`), 1, "%s: a description that has the name: %s", p, schema)
		assert.Equal(t, strings.Count(schema, `"description":"filter[id]: Which."`), want, "%s: a name before a description: %s", p, schema)
		assert.Equal(t, strings.Count(schema, `"description"`), 2+want, "%s: descriptions: %s", p, schema)
	}
	for _, c := range []struct{ name, tool, title, description, want string }{
		//report: Models | CherryHQ/cherry-studio#18202, CherryHQ/cherry-studio#6547, alibaba/spring-ai-alibaba#1445, CherryHQ/cherry-studio#11697 | a tool whose name is Chinese gets one of letters that says nothing, or that of another tool, and the model cannot choose it | two such tools stay two, and one without a description is told with its title or its own name
		{"server__tool_hr2j4qnh33", "检索", "", " ", "检索"},
		{"server__tool_hr2j4qnh33", "检索", "Find", "", "Find"},
		{"server__tool_hr2j4qnh33", "检索", "Find", "Finds.", "Finds."},
		{"检索", "", "", "", "检索"},
		{"server__find", "find", "Find", "", ""},
	} {
		def := registry.Definition{Name: c.name, Title: c.title, Description: c.description, InputSchema: json.RawMessage(`{"type":"object"}`)}
		if c.tool != "" {
			def.Origin = registry.Origin{Server: "server", Tool: c.tool}
		}
		set := assert.Value(profile.Compile(profile.OpenAI, []registry.Tool{&described{def: def}}, nil))(t)
		assert.Equal(t, set.Tools()[0].Description, c.want, "%+v", c)
	}
}

// TestTakenName has a tool that is called as another one would be.
func TestTakenName(t *testing.T) {
	changed := namesOf(t, profile.OpenAI, nil, "a.b")[0]
	for _, names := range [][]string{{"a.b", changed}, {changed, "a.b"}} {
		got := namesOf(t, profile.OpenAI, nil, names...)
		assert.Equal(t, got[slices.Index(names, changed)], changed)
		other := got[slices.Index(names, "a.b")]
		assert.True(t, other != changed && strings.HasPrefix(other, "a_b_"), "the name %q of a.b is another one", other)
	}
}

func TestDeferredName(t *testing.T) {
	long := strings.Repeat("n", 100)
	assert.Equal(t, namesOf(t, profile.Anthropic, nil, long)[0], long)
	all := &profile.Options{Deferred: func(*registry.Definition) bool { return true }}
	assert.False(t, len(namesOf(t, profile.Anthropic, all, long)[0]) > 64, "%d are more than %d", len(namesOf(t, profile.Anthropic, all, long)[0]), 64)
}

// TestArgumentNames has properties that some providers do not take.
func TestArgumentNames(t *testing.T) {
	schema := `{"type":"object","properties":{"user id":{"type":"string"},"é":{"type":"object","properties":{"b c":{"type":"string"}}},"ok":{"type":"integer"}},
		"required":["user id","ok"],"dependentRequired":{"é":["user id"]}}`
	for _, p := range []profile.Provider{profile.Anthropic, profile.Bedrock} {
		c := compiled(t, p, schema)
		var s struct {
			Properties map[string]json.RawMessage
			Required   []string
		}
		assert.OK(t, json.Unmarshal(c.Schema, &s))
		var user, other string
		for name := range s.Properties {
			assert.True(t, regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name), "%s: %q is taken", p, name)
			switch {
			case strings.HasPrefix(name, "user_id_"):
				user = name
			case name != "ok":
				other = name
			}
		}
		assert.Equal(t, fmt.Sprintf("%q", s.Required), fmt.Sprintf("%q", []string{user, "ok"}), "%s %s", p, c.Schema)
		assert.Contains(t, string(s.Properties[other]), `"b c"`, "%s %s", p, c.Schema)
		back, err := c.Unmap(json.RawMessage(fmt.Sprintf(`{ %q : 1.50, "ok":2 , %q: {"b c": 1e400, %q: 1}}`, user, other, user)))
		assert.OK(t, err, "%s", p)
		assert.Equal(t, string(back), fmt.Sprintf(`{ "user id":1.50, "ok":2 , "é":{"b c": 1e400, %q: 1}}`, user), "%s", p)
		assert.Fails(t, assert.Err(c.Unmap(json.RawMessage(fmt.Sprintf(`{%q:1,"user id":2}`, user)))), "%s", p)
		assert.Equal(t, string(assert.Value(c.Unmap(json.RawMessage(`{"user id":2}`)))(t)), `{"user id":2}`, "%s", p)
	}
}
