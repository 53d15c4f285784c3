package edit

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestWriterKnowsTheSchema: the writer knows the keys that the schema has in our objects.
func TestWriterKnowsTheSchema(t *testing.T) {
	var schema struct {
		Defs struct {
			Server struct {
				Properties map[string]struct{ Properties map[string]json.RawMessage }
			}
		} `json:"$defs"`
	}
	assert.OK(t, json.Unmarshal(config.Schema(), &schema))
	for _, section := range []string{"auth", "tls", "isolation", "limits"} {
		keys := schema.Defs.Server.Properties[section].Properties
		if len(keys) == 0 {
			t.Errorf("%s: got no keys in the schema, want some", section)
		}
		for key := range keys {
			if got := innerKey(section, key); got != key && key != "type" { // which is not written
				t.Errorf("%s.%s: got %q as the writer's key, want the same", section, key, got)
			}
		}
	}
}
