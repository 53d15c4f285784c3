package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestWithPage(t *testing.T) {
	for tool, want := range map[string]string{
		`{"name":"a"}`: `{"name":"a"}`,
		`{"_meta":{"ui":{"resourceUri":"ui://b"}}}`:                            `{"_meta":{"ui":{"resourceUri":"UI://B"}}}`,
		`{"_meta":{"ui/resourceUri":"a","openai/outputTemplate":"b","c":"d"}}`: `{"_meta":{"ui/resourceUri":"A","openai/outputTemplate":"B","c":"d"}}`,
		`{"_meta":{"ui":{"resourceUri":7}}}`:                                   `{"_meta":{"ui":{"resourceUri":7}}}`,
	} {
		assert.Equal(t, string(message.WithPage(json.RawMessage(tool), strings.ToUpper)), want)
	}
}
