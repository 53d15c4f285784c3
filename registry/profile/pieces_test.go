package profile_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// TestPieces joins the deltas of streams as servers send them.
func TestPieces(t *testing.T) {
	const a, b = `{"function":{"arguments":"{\"q\":1}","name":"one"},"id":"a","type":"function"}`, `{"function":{"arguments":"{}","name":"two"},"id":"b","type":"function"}`
	for name, c := range map[string]struct {
		deltas []string
		want   string
	}{
		"as OpenAI does": {[]string{
			`{"role":"assistant","content":"hel"}`, `{"content":"lo"}`,
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`,
			`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"two","arguments":"{}"}}]}`,
		}, `{"content":"hello","role":"assistant","tool_calls":[` + a + `,` + b + `]}`},
		//report: Models | google-deepmind/amplio#3, ai-dynamo/dynamo#4723, sgl-project/sglang#7117, NousResearch/hermes-agent#101654 | a server gives several calls of a stream one index, with ids of their own | they are as many calls as there are ids
		"one index": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":"{\"q\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"two","arguments":"{}"}}]}`,
		}, `{"role":"assistant","tool_calls":[` + a + `,` + b + `]}`},
		//report: Models | spring-projects/spring-ai#5974, spring-projects/spring-ai#6000 | vLLM sends the id of a call with each piece | the pieces are one call
		"the id with each piece": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":"{\"q"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"arguments":"\":1}"}}]}`,
		}, `{"role":"assistant","tool_calls":[` + a + `]}`},
		//report: Models | oracle/langchain-oracle#254, oracle/langchain-oracle#108 | Grok gives two calls one index, and pieces behind them have no id | such a piece is of the last call with its index
		"pieces behind": {[]string{
			`{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"two","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":"{\"q"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]}`,
		}, `{"role":"assistant","tool_calls":[` + b + `,` + a + `]}`},
		//report: Models | huggingface/smolagents#1569 | Ollama behind LiteLLM gives calls neither ids nor indexes of their own | a name behind whole arguments begins another call
		"neither": {[]string{
			`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"{}"}}]}`,
		}, `{"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"one"}},{"function":{"arguments":"{}","name":"one"}}]}`},
		//report: Models | vllm-project/vllm#28806 | vLLM sends no arguments at all of a tool that takes none | it is a call with none
		"no arguments": {[]string{`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one"}}]}`},
			`{"role":"assistant","tool_calls":[{"function":{"name":"one"},"id":"a","type":"function"}]}`},
		//report: Models | RooCodeInc/Roo-Code#9125, home-assistant/core#159812 | OpenRouter streams reasoning_details in pieces, and wants them back as they were | pieces of one index and type are one element
		"details": {[]string{
			`{"reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]}`, `{"reasoning_details":[{"type":"reasoning.text","text":"m","index":0}]}`,
			`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]}`,
		}, `{"reasoning_details":[{"index":0,"text":"hm","type":"reasoning.text"},{"data":"x","index":1,"type":"reasoning.encrypted"}],"role":"assistant"}`},
		//report: Models | NousResearch/hermes-agent#8259, NousResearch/hermes-agent#12230, AstrBotDevs/AstrBot#7735, open-webui/open-webui#22235, Sliverkiss/workbuddy2api#82 | MiniMax behind NVIDIA, Kimi behind Fireworks and others send the whole name with each piece, and it becomes read_fileread_file | the name is that of the last piece, and a piece that has no more than the name begins no call
		"the name with each piece": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"{\"q\":1"}}]}`, `{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":""}}]}`,
		}, `{"role":"assistant","tool_calls":[` + a + `]}`},
		//report: Models | ollama/ollama#7881, AstrBotDevs/AstrBot#6692, EricLBuehler/mistral.rs#1507, SamSaffron/term-llm#314, openai/openai-python#2806, anomalyco/opencode#17902 | Ollama, mistral.rs and Gemini's compatible endpoint send calls without an index | an id begins a call, and a piece with neither is of the last one
		"no index": {[]string{
			`{"tool_calls":[{"id":"a","type":"function","function":{"name":"one","arguments":"{\"q"}}]}`, `{"tool_calls":[{"index":null,"function":{"arguments":"\":1}"}}]}`,
			`{"tool_calls":[{"id":"b","type":"function","function":{"name":"two","arguments":"{}"}}]}`,
		}, `{"role":"assistant","tool_calls":[` + a + `,` + b + `]}`},
		//report: Models | apache/maka#1967, cline/cline#13123, microsoft/foundry-local#372, marimo-team/marimo#7356 | LiteLLM and others that translate Anthropic's blocks begin with index 1, and clients look for a call before it | the first call is the first, whatever its index
		"indexes that begin later": {[]string{
			`{"content":"hm"}`, `{"tool_calls":[{"index":1,"id":"a","type":"function","function":{"name":"one","arguments":"{\"q\":1}"}}]}`,
			`{"tool_calls":[{"index":3,"id":"b","type":"function","function":{"name":"two","arguments":"{"}}]}`, `{"tool_calls":[{"index":3,"function":{"arguments":"}"}}]}`,
		}, `{"content":"hm","role":"assistant","tool_calls":[` + a + `,` + b + `]}`},
		//report: Models | tailcallhq/forgecode#1122 | Kimi sends the id and an empty name with each piece | the name stays
		"empty names": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"","arguments":"{\"q\""}}]}`, `{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"","arguments":":1}"}}]}`,
		}, `{"role":"assistant","tool_calls":[` + a + `]}`},
		//report: Models | zai-org/GLM-4#194 | GLM-4's server makes another id for each piece of a call | a piece without a name, behind arguments that are not whole, is of the call with its index
		"another id with each piece": {[]string{
			`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"one","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"id":"y","type":"function","function":{"name":null,"arguments":"{\"q\""}}]}`, `{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":null,"arguments":":1}"}}]}`,
		}, `{"role":"assistant","tool_calls":[` + a + `]}`},
		"nulls": {[]string{`{"role":"assistant","content":null,"refusal":null}`, `{"content":"","reasoning_content":"hm"}`}, `{"content":"","reasoning_content":"hm","role":"assistant"}`},
	} {
		var p profile.Pieces
		for _, delta := range c.deltas {
			assert.OK(t, p.Add(json.RawMessage(delta)), "%s", name)
		}
		assert.Equal(t, string(p.Message()), c.want, "%s", name)
	}
	var p profile.Pieces
	assert.False(t, p.Add(json.RawMessage(`{`)) == nil, "got no error, want one of a delta that is no JSON")
}
