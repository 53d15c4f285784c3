package profile_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A line is a message of a conversation: of the user, u; of the model with calls, a; of a
// result, t.
type line struct {
	what  string
	calls []profile.Call
}

// conversation reads lines: "u", "a id:name:arguments,id:name", "t id". In ids, a dot stands
// for none.
func conversation(script string) []line {
	var lines []line
	for text := range strings.SplitSeq(script, " | ") {
		what, rest, _ := strings.Cut(text, " ")
		l := line{what: what}
		for call := range strings.SplitSeq(rest, ",,") {
			id, rest, _ := strings.Cut(call, "~")
			name, args, _ := strings.Cut(rest, "~")
			if call != "" {
				l.calls = append(l.calls, profile.Call{ID: strings.Trim(id, "."), Name: name, Arguments: json.RawMessage(args)})
			}
		}
		lines = append(lines, l)
	}
	return lines
}

func repaired(p profile.Provider, script string) string {
	r := profile.Repairer[line]{
		Provider: p,
		Each: func(l line, call, result func(profile.Call) profile.Call) line {
			l.calls = slices.Clone(l.calls)
			for i, c := range l.calls {
				if l.what == "t" {
					l.calls[i] = result(c)
				} else {
					l.calls[i] = call(c)
				}
			}
			return l
		},
		Lost: func(c profile.Call, _ string) line { return line{"lost", []profile.Call{c}} },
	}
	var out []string
	for _, l := range r.Repair(conversation(script)) {
		text := l.what
		for i, c := range l.calls {
			switch {
			case l.what == "a" && i > 0:
				text += ",,"
			default:
				text += " "
			}
			text += cmp.Or(c.ID, ".")
			if l.what == "a" {
				text += "~" + c.Name + "~" + string(c.Arguments)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " | ")
}

// TestRepair has conversations that APIs refuse, with what becomes of them.
func TestRepair(t *testing.T) {
	long := strings.Repeat("x", 83)
	for _, c := range []struct {
		provider profile.Provider
		in, want string
	}{
		{profile.OpenAI, `u | a x~it~{} | t x | u`, `u | a x~it~{} | t x | u`},
		//report: Models | huggingface/smolagents#1958, itmisx/deepx-code#94 | servers that copy OpenAI's API give calls no id | each call has one of its own when it goes back, and its result with it
		{profile.OpenAI, `a .~it~{},,.~it~{} | t . | t .`, `a call_0~it~{},,call_1~it~{} | t call_0 | t call_1`},
		//report: Models | editor-code-assistant/eca#233 | a provider uses an id again in the next turn | the second call has another id when it goes back
		{profile.OpenAI, `a x~it~{} | t x | u | a x~it~{} | t x`, `a x~it~{} | t x | u | a call_0~it~{} | t call_0`},
		{profile.OpenAI, `a x~it~{},,x~it~{} | t x | t x`, `a x~it~{},,call_1~it~{} | t x | t call_1`},
		//report: Models | BlockRunAI/ClawRouter#17, HKUDS/nanobot#4356, RooCodeInc/Roo-Code#10649, tailcallhq/forgecode#1142 | Anthropic refuses ids with characters beyond letters, digits, underscore and dash | such an id becomes one that it takes, with a hash, so that two stay two
		{profile.Anthropic, `a a:0~it~{},,a.0~it~{} | t a:0 | t a.0`, `a a_0_gjeyybap~it~{},,a_0_w5y5osfb~it~{} | t a_0_gjeyybap | t a_0_w5y5osfb`},
		//report: Models | maximhq/bifrost#5097, CommandCodeAI/command-code#323 | Kimi and DeepSeek write ids such as functions.Bash:0 | they stay for APIs that copy OpenAI's, which wrote them, and become others for Anthropic
		{profile.OpenAI, `a functions.Bash:0~it~{} | t functions.Bash:0`, `a functions.Bash:0~it~{} | t functions.Bash:0`},
		//report: Models | openclaw/openclaw#875, langgenius/dify#28987, microsoft/autogen#6377 | a proxy makes ids of 83 characters, and OpenAI takes no more than 64 | a longer one is cut, with a hash
		{profile.OpenAI, `a ` + long + `~it~{} | t ` + long, `a ` + long[:55] + `_g5c2qhtq~it~{} | t ` + long[:55] + `_g5c2qhtq`},
		//report: Models | anomalyco/opencode#1680, nearai/ironclaw#1241, langchain-ai/langchain#24668, ml-explore/mlx-lm#1375 | Mistral takes ids of nine letters and digits alone, and writes such | an id that its model wrote goes back as it is; a conversation that another provider began is refused there
		{profile.OpenAI, `a D681PevKs~it~{} | t D681PevKs`, `a D681PevKs~it~{} | t D681PevKs`},
		//report: Models | anthropics/claude-code#5989, anthropics/claude-code#1237, Kilo-Org/kilocode#5163, aliasrobotics/cai#182 | a call has no result because its turn was cancelled or the program broke down; Anthropic refuses the conversation for good | the call gets a result that says that it was lost
		{profile.Anthropic, `u | a x~it~{},,y~it~{} | t y | u`, `u | a x~it~{},,y~it~{} | lost x | t y | u`},
		//report: Models | CopilotKit/CopilotKit#7277 | OpenAI and those who copy it refuse calls without a result when the user goes on | the same, for each provider
		{profile.OpenAI, `a x~it~{} | u`, `a x~it~{} | lost x | u`},
		{profile.OpenAI, `u | a x~it~{} | t x | a y~it~{}`, `u | a x~it~{} | t x | a y~it~{}`}, // its result is still to come
		//report: Models | microsoft/semantic-kernel#12708, BerriAI/litellm#4931, microsoft/autogen#3178, run-llama/llama_index#16214 | the history is cut, and begins with results whose calls are gone; the API refuses it | results of no call are left out
		{profile.OpenAI, `t x | u | a y~it~{} | t y`, `u | a y~it~{} | t y`},
		//report: Models | bolna-ai/bolna#538 | a result is there twice, or somewhere behind | each call has one result, behind its message
		{profile.OpenAI, `a x~it~{} | u | t x | t x | u`, `a x~it~{} | t x | u | u`},
		//report: Models | vercel/ai#16577, strands-agents/harness-sdk#2340, can1357/oh-my-pi#11179 | results stand in the order in which tools end: the prompt's cache is lost, and models read them by place | they stand in the order of the calls
		{profile.OpenAI, `a x~it~{},,y~it~{} | t y | t x`, `a x~it~{},,y~it~{} | t x | t y`},
		//report: Models | prefect-archive/ControlFlow#107, craft-ai-agents/craft-agents-oss#449 | GPT calls multi_tool_use.parallel, which is no tool, and OpenAI refuses the name when it comes back | the call is answered, and goes back under a name that the API takes
		{profile.OpenAI, `a x~multi_tool_use.parallel~{} | t x`, `a x~multi_tool_use_parallel~{} | t x`},
		//report: Models | vercel/ai#2786 | a model writes a name that no tool can have | the same: the conversation goes on
		{profile.Bedrock, `a x~a b!~{} | t x`, `a x~a_b_~{} | t x`},
		//report: Models | BerriAI/litellm#28825 | Kimi behind Bedrock calls "functions read_file", and Bedrock refuses each request after it | it goes back as functions_read_file
		{profile.Bedrock, `a x~functions read_file~{} | t x`, `a x~functions_read_file~{} | t x`},
		//report: Models | vercel/ai#17781, NousResearch/hermes-agent#90008 | a model behind Bedrock calls $READFILE, or a name without any letter that Bedrock takes | what it does not take is an underscore
		{profile.Bedrock, `a x~$READFILE~{},,y~检索~{} | t x | t y`, `a x~_READFILE~{},,y~_~{} | t x | t y`},
		//report: Models | tailcallhq/forgecode#1141, esengine/DeepSeek-Reasonix#4778 | Kimi calls a tool without a name, and DeepSeek refuses a call that has none | it is an underscore
		{profile.OpenAI, `a x~~{} | t x`, `a x~_~{} | t x`},
		{profile.Gemini, `a .~1.a~{} | t .~1.a`, `a .~_1.a~{} | t .`},
		//report: Models | vllm-project/vllm#19419, sigoden/aichat#1217, simonw/llm#1164, brave/brave-browser#56601 | of a tool without arguments a model writes an empty text, which is no JSON when it comes back | it goes back as an empty object
		{profile.OpenAI, `a x~it~ | t x`, `a x~it~{} | t x`},
		//report: Models | agno-agi/agno#10260 | a model behind Ollama writes null, or a text, as arguments | so do null, texts and lists
		{profile.Ollama, `a x~it~null | t x`, `a x~it~{} | t x`},
		//report: Models | ggml-org/llama.cpp#22072, continuedev/continue#7491 | llama.cpp refuses the next request, for it parses arguments again that were cut off or no JSON | such arguments go back as an empty object; the result has said what was wrong
		{profile.OpenAI, `a x~it~{"fi | t x`, `a x~it~{} | t x`},
		//report: Models | mistralai/mistral-vibe#216, mistralai/mistral-vibe#615 | a model writes a Windows path with single backslashes, and vLLM refuses each request that has it | the arguments go back as an empty object
		{profile.OpenAI, `a x~it~{"path":"C:\Users"} | t x`, `a x~it~{} | t x`},
		//report: Models | vllm-project/vllm#47761 | a text with line feeds in it, not escaped, ends vLLM's reading of the history | the same
		{profile.OpenAI, "a x~it~{\"text\":\"a\nb\"} | t x", `a x~it~{} | t x`},
		//report: Models | vllm-project/vllm#25729, vllm-project/vllm#54964 | Granite writes its arguments as JSON in a text | the model is told so, and they go back as an empty object
		{profile.OpenAI, `a x~it~"{\"city\":\"Bengaluru\"}" | t x`, `a x~it~{} | t x`},
		//report: Models | BerriAI/litellm#33678, unslothai/unsloth#9817 | two objects stand in the arguments of one call, since a proxy has joined two calls; the next request fails | the same
		{profile.Ollama, `a x~it~{"path":"a.rs"}{"path":"b.rs"} | t x`, `a x~it~{} | t x`},
		//report: Models | run-llama/llama_index#22775, awsl-project/maxx#557 | calls have no id, or one with a character that Bedrock does not take, when a conversation goes on there | each has one that Bedrock takes, and its result with it
		{profile.Bedrock, `a .~it~{},,a.b~it~{} | t . | t a.b`, `a call_0~it~{},,a_b_e74uovg6~it~{} | t call_0 | t a_b_e74uovg6`},
		//report: Models | musistudio/claude-code-router#599, BerriAI/litellm#23510 | a proxy gives several calls of one message one id, and Claude refuses them | the second has another
		{profile.Anthropic, `a x~it~{},,x~it~{} | t x | t x`, `a x~it~{},,call_1~it~{} | t x | t call_1`},
		//report: Models | anthropics/claude-code#61670, anthropics/claude-code#3277, anthropics/claude-code#6273, link-assistant/hive-mind#1204 | a model writes half a surrogate pair, and Anthropic takes no request that has it | it goes back as U+FFFD
		{profile.Anthropic, `a x~it~{"q":"sun \ud83d"} | t x`, `a x~it~{"q":"sun �"} | t x`},
		{profile.OpenAI, `a x~it~{"a":1,"a":2} | t x`, `a x~it~{"a":2} | t x`},
	} {
		got := repaired(c.provider, c.in)
		assert.Equal(t, got, c.want, "%s: %q", c.provider, c.in)
		assert.Equal(t, repaired(c.provider, strings.ReplaceAll(got, "lost", "t")), strings.ReplaceAll(got, "lost", "t"), "once more")
	}
}

// TestLostIsSaidOnce names a lost call once.
func TestLostIsSaidOnce(t *testing.T) {
	parts := profile.Parts(profile.OpenAI, profile.Lost(profile.Call{Name: "it"}).Result)
	assert.Equal(t, strings.Count(fmt.Sprint(parts), "failed"), 1, "how often it is said: %v", parts)
}
