package profile_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// issueSchema is what many tools of servers look like.
const issueSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
	"owner":{"type":"string","description":"Repository owner"},"repo":{"type":"string","description":"Repository name"},
	"title":{"type":"string","minLength":1,"description":"Issue title"},"body":{"type":"string","description":"Issue body content"},
	"assignees":{"type":"array","items":{"type":"string"},"description":"Users to assign"},
	"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"state":{"type":["string","null"],"enum":["open","closed",null],"default":"open"},
	"milestone":{"anyOf":[{"type":"integer","exclusiveMinimum":0},{"type":"null"}]},
	"author":{"$ref":"#/definitions/user"},"reviewer":{"$ref":"#/definitions/user"}},
	"definitions":{"user":{"type":"object","properties":{"login":{"type":"string"},"email":{"type":"string","format":"email"}},"required":["login"],"additionalProperties":false}},
	"required":["owner","repo","title"],"additionalProperties":false}`

func BenchmarkCompile(b *testing.B) {
	tools := make([]registry.Tool, 10_000)
	for i := range tools {
		tools[i] = tool(fmt.Sprintf("server%d__tool_%d", i/50, i), issueSchema)
	}
	for _, p := range providers {
		b.Run(string(p)+"/10000", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set, err := profile.Compile(p, tools, nil)
				assert.OK(b, err)
				assert.Equal(b, len(set.Tools()), len(tools))
			}
		})
	}
}

func BenchmarkUnmap(b *testing.B) {
	c := compiled(b, profile.OpenAIStrict, issueSchema)
	args := json.RawMessage(`{"owner":"a","repo":"b","title":"c","body":null,"assignees":["x","y"],"labels":[{"key":"k","value":"v"}],"state":null,"milestone":7,"author":{"login":"l","email":null},"reviewer":null}`)
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(c.Unmap(args))(b)
	}
}
