package registry

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

// The estimate is held against what o200k_base makes of the definitions of real
// servers.
func TestEstimateOfRealDefinitions(t *testing.T) {
	want, got, tools := 0, 0, 0
	low, high := 1.0, 1.0
	for _, s := range toolcorpus.Servers() {
		for _, tool := range s.Tools {
			def := &Definition{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema}
			n := estimateTokensIn(appendDefinition(nil, def))
			share := float64(n) / float64(tool.Tokens)
			if share < 0.75 || share > 1.3 {
				t.Errorf("%s/%s: %d tokens are estimated, %d counted", s.Name, tool.Name, n, tool.Tokens)
			}
			low, high = min(low, share), max(high, share)
			want, got, tools = want+tool.Tokens, got+n, tools+1
		}
	}
	share := float64(got) / float64(want)
	t.Logf("%d definitions: %d tokens are estimated, %d counted: %.3f in all, from %.2f to %.2f each", tools, got, want, share, low, high)
	if share < 0.95 || share > 1.1 {
		t.Errorf("in all %.3f of what is counted", share)
	}
}
