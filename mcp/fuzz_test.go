package mcp

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

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
		var invalid *ProtocolError
		if err != nil && !errors.As(err, &invalid) {
			t.Errorf("error %T %v", err, err)
		}
		if err == nil && (res == nil) == (need == nil) {
			t.Errorf("result %v, need %v", res, need)
		}
		if need != nil && !modern {
			t.Error("an older revision needs input")
		}
		if err != nil || jsonscan.Valid(data) != nil {
			return
		}
		if need != nil {
			for _, raw := range []json.RawMessage{need.requests, need.state} {
				if raw != nil && !json.Valid(raw) {
					t.Errorf("%q is not JSON", raw)
				}
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
		if tool.Name == "" {
			t.Error("no name")
		}
		for _, schema := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
			if schema != nil && !json.Valid(schema) {
				t.Errorf("got the schema %s, want JSON", schema)
			}
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
		var invalid *ProtocolError
		if err != nil {
			invalid = assert.As[*ProtocolError](t, err)
			assert.Equal(t, s == nil, true)
			if invalid.Path == "" {
				t.Errorf("task %v, error %T %v", s, err, err)
			}
			return
		}
		assert.Equal(t, s.ID, "a", "ID")
		if s.Status == "" || s.TTL < 0 || s.PollInterval < 0 {
			t.Errorf("task %+v", s)
		}
		for _, raw := range []json.RawMessage{s.requests, s.result} {
			if raw != nil && (!json.Valid(raw) || !modern) {
				t.Errorf("%q came along", raw)
			}
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
		if data[0] == '{' && string(memberOf(got, "_meta", metaRelatedTask)) != `{"taskId":"a"}` {
			t.Errorf("%s became %s", data, got)
		}
		for key, value := range jsonscan.Fields(data) {
			if string(key) != "_meta" && string(memberOf(got, string(key))) != string(value) {
				t.Errorf("%s became %s", data, got)
			}
		}
	})
}
