//go:build !race

package eino_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
)

// TestChatModelAgentStream is not for the race detector: in a stream of eino v0.7.36 the
// tools node writes one variable for all tools that return more than text.
func TestChatModelAgentStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "eino", Runtime: "ChatModelAgentStream", Framework: "github.com/cloudwego/eino",
		Wire: adaptertest.OpenAIChat{}, Interrupt: "`tool.StatefulInterrupt`", Start: startAgent(nil, true),
		Without: map[string]string{"one index": "the callbacks of eino-ext's model put its stream together by the index alone"},
	})
}
