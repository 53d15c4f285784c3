package mcp

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

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
		completion, err := decodeCompletion(data)
		check(completion, completion != nil, err)
		resource, err := decodeListedResource(data, modern)
		check(resource, err == nil, err)
		template, err := decodeResourceTemplate(data, modern)
		check(template, err == nil, err)
		item, err := decodePrompt(data, modern)
		check(item, err == nil, err)
		if f := freshnessOf(data); f.ttl < 0 || f.ttl > maxTTL {
			t.Errorf("to be kept for %v", f.ttl)
		}
		if m, err := decodeLogMessage(data); err == nil {
			for _, r := range harmless(m.Data) {
				if r < ' ' || r == 0x7f {
					t.Errorf("%q is in what was to be harmless", r)
				}
			}
		}
	})
}

// trimmed returns a value as it stands in an answer, without space around it.
func trimmed(data []byte) []byte {
	walk := jsonscan.Walk(data)
	return walk.Value()
}
