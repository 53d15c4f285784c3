// Tests of decode.go, decode_result.go and task_decode.go.

package mcp

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

// An error has the exact path of what is wrong, what stands there, and what should. What is wrong with answers that are
// no lists is told by the tests of resources.
func TestDecodeErrors(t *testing.T) {
	ignore := func(_ any, err error) error { return err }
	resource := func(raw string) error { _, _, err := decodeItem[Resource]([]byte(raw), "uri"); return err }
	listed := func(raw string) error { _, _, err := decodePrompt([]byte(raw), true); return err }
	sample := func(raw string) error { return ignore(decodeSample([]byte(raw))) }
	task := func(raw string) error { return ignore(decodeTask([]byte(raw), true)) }
	elicit := func(raw string) error { return ignore(decodeElicit([]byte(raw))) }
	log := func(raw string) error { return ignore(decodeLogMessage([]byte(raw))) }
	for _, test := range []struct {
		decode          func(string) error
		raw, path, want string
	}{
		{resource, `{"uri":"u","title":[]}`, "title", "got an array, want a string"},
		{resource, `{"name":"n"}`, "uri", "missing"},
		{listed, `{"name":"n","arguments":[{"name":"a"},{"name":"b","required":1}]}`, "arguments[1].required", "got a number, want a boolean"},
		{sample, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":[]}]}]}`, "messages[0].content[1].text", "got an array, want a string"},
		{sample, `{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"b","input":7}}]}`, "messages[0].content.input", "wrong type"},
		{sample, `{"stopSequences":["a",7]}`, "stopSequences", "wrong type"},
		{sample, `{"toolChoice":{"mode":7}}`, "toolChoice.mode", "wrong type"},
		{sample, `{"tools":[{"name":"a"},{"name":""}]}`, "tools[1].name", "missing"},
		{task, `{"taskId":"a","status":"working","ttlMs":"1"}`, "ttlMs", "got a string, want a number"},
		{task, `{"taskId":"a","status":"failed","error":{"code":"1"}}`, "error.code", "got a string, want a whole number"},
		{task, `{"taskId":"a"}`, "status", "missing"},
		{elicit, `{"requestedSchema":7}`, "requestedSchema", "got a number, want an object"},
		{log, `{"level":"info","data":1,"logger":{}}`, "logger", "got an object, want a string"},
		{log, `{"level":"info"}`, "data", "missing"},
	} {
		invalid := assert.As[*ProtocolError](t, test.decode(test.raw), "%s", test.raw)
		assert.Equal(t, invalid.Path, test.path, "%s: got path", test.raw)
		assert.Equal(t, invalid.Err.Error(), test.want, "%s", test.raw)
	}
}

// FuzzDecodeCallResult: no answer makes the decoder panic, and every error says
// that the answer is invalid. What the reader accepts is JSON to others as well.
func FuzzDecodeCallResult(f *testing.F) {
	for _, seed := range []string{
		``, `{`, `{}`, `null`, `7`, `[]`, `{"content":null}`, `{"content":[]}`, `{"content":[{}]}`,
		`{"content":[{"type":"text","text":"a","annotations":{"priority":0.5}}],"isError":true}`,
		`{"content":[{"type":"image","data":"AQI=","mimeType":"image/png"},{"type":"audio","data":"!"}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"u","blob":"AQI="}},{"type":"resource_link","size":1e99}]}`,
		`{"content":[{"type":"hologram"}],"structuredContent":{"a":9007199254740993}}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}},"requestState":"s"}`,
		`{"resultType":"task","_meta":{"a":[1,2]}}`, `{"\ud800":"\udc00"}`, `{"content":[{"type":"text","text":"\ud83d\ude00"}]}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, modern bool) {
		res, need, err := decodeCallResult(data, modern, false)
		assert.True(t, err == nil || errors.As(err, new(*ProtocolError)), "%T %v is a ProtocolError", err, err)
		assert.False(t, err == nil && (res == nil) == (need == nil), "neither or both of the result %v and the need %v", res, need)
		assert.False(t, need != nil && !modern, "an older revision needs input")
		if err != nil || jsonscan.Valid(data) != nil {
			return
		}
		if need != nil {
			for _, raw := range []json.RawMessage{need.requests, need.state} {
				assert.True(t, raw == nil || json.Valid(raw), "%q is JSON", raw)
			}
			return
		}
		assert.Value(json.Marshal(res))(t)
	})
}

// FuzzDecodeTool does the same for one tool of a list.
func FuzzDecodeTool(f *testing.F) {
	for _, seed := range []string{
		`{}`, `7`, `"a"`, `{"name":""}`, `{"name":"a"}`, `{"name":"a","inputSchema":{"$ref":"#"},"outputSchema":true}`,
		`{"name":"a","title":"A","description":"d","annotations":{"readOnlyHint":true},"icons":[{"src":"i"}],"_meta":{"x":1}}`,
		`{"name":"a","inputSchema":null,"outputSchema":7}`, `{"name":null}`, `{"name":"a","annotations":[]}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, modern bool) {
		if len(data) == 0 {
			return // an element of a list is not empty
		}
		tool, err := decodeTool(data, modern)
		if err != nil || jsonscan.Valid(data) != nil {
			return
		}
		assert.False(t, tool.Name == "", "the tool has no name")
		for _, schema := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
			assert.True(t, schema == nil || json.Valid(schema), "the schema %s is JSON", schema)
		}
	})
}

// FuzzDecodeElicit does the same for a question that came with an answer, up to
// its form.
func FuzzDecodeElicit(f *testing.F) {
	for _, seed := range []string{
		`{}`, `7`, `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"$ref":"#"}}}`,
		`{"method":"elicitation/create","params":{"requestedSchema":{"properties":{"a":{"type":"string","default":{}}},"required":["a"]}}}`,
		`{"method":"elicitation/create","params":{"requestedSchema":{"type":[],"properties":7}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if jsonscan.Valid(data) != nil {
			return
		}
		_, raw, err := decodeServerRequest(data)
		if err != nil {
			return
		}
		params, err := decodeElicit(raw)
		if err != nil {
			return
		}
		schema, _ := params.RequestedSchema.(json.RawMessage)
		parsed, err := form.Parse(schema)
		if err != nil {
			return
		}
		if content, err := parsed.Fill(nil); err == nil {
			assert.Value(json.Marshal(content))(t)
		}
	})
}

// FuzzDecodeTask does the same for a task that was asked for.
func FuzzDecodeTask(f *testing.F) {
	for _, seed := range []string{
		``, `7`, `{}`, `{"taskId":"a","status":"working"}`, `{"taskId":"b","status":"working"}`, `{"taskId":"a","status":"done"}`,
		`{"taskId":"a","status":"completed","result":{"content":[]},"ttlMs":1e400,"pollIntervalMs":-1,"createdAt":"2026-01-02T03:04:05Z"}`,
		`{"taskId":"a","status":"failed","error":{"code":1,"message":"m","data":[]},"ttl":null,"pollInterval":0.5,"lastUpdatedAt":7}`,
		`{"taskId":"a","status":"input_required","inputRequests":{"k":{"method":"roots/list"}},"resultType":"complete"}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, modern bool) {
		if jsonscan.Valid(data) != nil {
			return
		}
		s, err := decodePolled(data, "a", modern)
		if err != nil {
			assert.False(t, assert.As[*ProtocolError](t, err).Path == "", "no path in %v", err)
			assert.True(t, s == nil)
			return
		}
		assert.Equal(t, s.ID, "a", "ID")
		assert.False(t, s.Status == "" || s.TTL < 0 || s.PollInterval < 0, "the task %+v is odd", s)
		for _, raw := range []json.RawMessage{s.requests, s.result} {
			assert.True(t, raw == nil || json.Valid(raw) && modern, "%q is JSON of this revision", raw)
		}
	})
}

// FuzzRelate: whatever an answer holds, it belongs to the task afterwards, and
// nothing else is lost.
func FuzzRelate(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `{"action":"accept"}`, `{"_meta":{"a":1,"io.modelcontextprotocol/related-task":7},"b":"\u0041"}`, `{"_meta":7}`} {
		f.Add([]byte(seed))
	}
	params := json.RawMessage(`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		if jsonscan.Valid(data) != nil {
			return
		}
		assert.Equal(t, string(relate(data, json.RawMessage(`{"_meta":{}}`))), string(data))
		got := relate(data, params)
		assert.OK(t, jsonscan.Valid(got), "%s became %s", data, got)
		assert.True(t, data[0] != '{' || string(jsonscan.Member(got, "_meta", protocol.MetaTask)) == `{"taskId":"a"}`, "%s became %s", data, got)
		for key, value := range jsonscan.Fields(data) {
			assert.True(t, string(key) == "_meta" || string(jsonscan.Member(got, string(key))) == string(value), "%s became %s with its %s", data, got, key)
		}
	})
}

// FuzzDecodeResults: no answer to a request for a resource, a prompt or a
// completion makes a decoder panic, nor an item of a list, nor a log message. An
// error says where the answer is invalid, and a result encodes again.
func FuzzDecodeResults(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `7`, `[]`, `""`,
		`{"contents":[{"uri":"u","text":"x"},{"uri":"u","blob":"AQI=","_meta":{}}],"ttlMs":1e999,"cacheScope":"public"}`,
		`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"u","icons":[{"src":"https:"}]}}],"resultType":"input_required","requestState":null}`,
		`{"completion":{"values":["a"],"total":9007199254740993,"hasMore":true}}`, `{"completion":{"values":[],"total":-1e3}}`,
		`{"uri":"u","name":"n","size":1e3,"icons":[],"annotations":{}}`, `{"uriTemplate":"u","title":7}`, `{"name":"n","arguments":[{"name":"a","required":true}]}`,
		`{"level":"info","logger":"l","data":"\u001b"}`, `{"level":"info","data":{"a":[1]}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, modern bool) {
		if jsonscan.Valid(data) != nil {
			return // nothing else is decoded
		}
		data = trimmed(data)
		check := func(value any, found bool, err error) {
			t.Helper()
			var invalid *ProtocolError
			switch {
			case err != nil && !errors.As(err, &invalid) && !errors.As(err, new(*kindError)):
				t.Errorf("error %T %v", err, err)
			case (err == nil) != found:
				t.Errorf("%+v, %v", value, err)
			case err == nil:
				assert.Value(json.Marshal(value))(t)
			}
		}
		read, need, err := decodeReadResult(data, modern)
		check(read, read != nil || need != nil && modern, err)
		prompt, need, err := decodePromptResult(data, modern)
		check(prompt, prompt != nil || need != nil && modern, err)
		completion, _, err := decodeCompletion(data, modern)
		check(completion, completion != nil, err)
		resource, _, err := decodeItem[Resource](data, "uri")
		check(resource, err == nil, err)
		template, _, err := decodeItem[ResourceTemplate](data, "uriTemplate")
		check(template, err == nil, err)
		item, _, err := decodePrompt(data, modern)
		check(item, err == nil, err)
		ttl := freshnessOf(data).ttl
		assert.True(t, 0 <= ttl && ttl <= maxTTL, "the time to keep %v is within bounds", ttl)
		if m, err := decodeLogMessage(data); err == nil {
			for _, r := range harmless(m.Data) {
				assert.True(t, r >= ' ' && r != 0x7f, "%q is harmless", r)
			}
		}
	})
}

// trimmed returns a value as it stands in an answer, without space around it.
func trimmed(data []byte) []byte {
	walk := jsonscan.Walk(data)
	return walk.Value()
}
