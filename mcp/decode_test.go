package mcp

import (
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// An error has the exact path of what is wrong, what stands there, and what should.
func TestDecodeErrors(t *testing.T) {
	ignore := func(_ any, err error) error { return err }
	read := func(raw string) error { _, _, err := decodeReadResult([]byte(raw), true); return err }
	prompt := func(raw string) error { _, _, err := decodePromptResult([]byte(raw), true); return err }
	completion := func(raw string) error { return ignore(decodeCompletion([]byte(raw))) }
	resource := func(raw string) error { return ignore(decodeListedResource([]byte(raw), true)) }
	listed := func(raw string) error { return ignore(decodePrompt([]byte(raw), true)) }
	sample := func(raw string) error { return ignore(decodeSample([]byte(raw))) }
	task := func(raw string) error { return ignore(decodeTask([]byte(raw), true)) }
	elicit := func(raw string) error { return ignore(decodeElicit([]byte(raw))) }
	log := func(raw string) error { return ignore(decodeLogMessage([]byte(raw))) }
	for _, test := range []struct {
		decode          func(string) error
		raw, path, want string
	}{
		{read, `[]`, "result", "got an array, want an object"},
		{read, `{"contents":{}}`, "contents", "got an object, want an array"},
		{read, `{"contents":[{"uri":"u"},{"uri":7}]}`, "contents[1].uri", "got a number, want a string"},
		{read, `{"contents":[{"uri":"u"},7]}`, "contents[1]", "got a number, want an object"},
		{read, `{}`, "contents", "missing"},
		{read, `{"resultType":true}`, "resultType", "got a boolean, want a string"},
		{read, `{"resultType":"input_required","inputRequests":[]}`, "inputRequests", "got an array, want an object"},
		{prompt, `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":7}}}]}`, "messages[0].content.resource.uri", "got a number, want a string"},
		{prompt, `{"messages":[{"role":"user","content":null}]}`, "messages[0].content", "got null, want an object"},
		{prompt, `{"messages":[{"role":7}]}`, "messages[0].role", "got a number, want a string"},
		{completion, `{"completion":{"values":["a",null]}}`, "completion.values[1]", "got null, want a string"},
		{completion, `{"completion":{"total":1.5}}`, "completion.total", "got a number, want a whole number"},
		{completion, `{"completion":{"hasMore":"no"}}`, "completion.hasMore", "got a string, want a boolean"},
		{resource, `{"uri":"u","annotations":{"priority":"high"}}`, "annotations.priority", "got a string, want a number"},
		{resource, `{"uri":"u","icons":[{"src":"https:"},{"src":7}]}`, "icons[1].src", "got a number, want a string"},
		{resource, `{"uri":"u","_meta":[]}`, "_meta", "got an array, want an object"},
		{resource, `{"name":"n"}`, "uri", "missing"},
		{listed, `{"name":"n","arguments":[{"name":"a"},{"name":"b","required":1}]}`, "arguments[1].required", "got a number, want a boolean"},
		{sample, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":[]}]}]}`, "messages[0].content[1].text", "got an array, want a string"},
		{sample, `{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"b","input":7}}]}`, "messages[0].content.input", "got a number, want an object"},
		{sample, `{"stopSequences":["a",7]}`, "stopSequences[1]", "got a number, want a string"},
		{sample, `{"toolChoice":{"mode":7}}`, "toolChoice.mode", "got a number, want a string"},
		{sample, `{"tools":[{"name":"a"},{"name":""}]}`, "tools[1].name", "missing"},
		{task, `{"taskId":"a","status":"working","ttlMs":"1"}`, "ttlMs", "got a string, want a number"},
		{task, `{"taskId":"a","status":"failed","error":{"code":"1"}}`, "error.code", "got a string, want a whole number"},
		{task, `{"taskId":"a"}`, "status", "missing"},
		{elicit, `{"requestedSchema":7}`, "requestedSchema", "got a number, want an object"},
		{log, `{"level":"info","data":1,"logger":{}}`, "logger", "got an object, want a string"},
		{log, `{"level":"info"}`, "data", "missing"},
	} {
		var invalid *ProtocolError
		if err := test.decode(test.raw); !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want a ProtocolError", test.raw, err)
			continue
		}
		assert.Equal(t, invalid.Path, test.path, "%s: got path", test.raw)
		assert.Equal(t, invalid.Err.Error(), test.want, "%s", test.raw)
	}
}
