package profile_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// corpusPassGate tells whether a registry would take a schema.
func corpusPassGate(schema string) error {
	return schemagate.Check(json.RawMessage(schema), schemagate.Limits{})
}

// Most of the schemas here are such that come so far: else they prove nothing.
func TestCorpusPassesTheGate(t *testing.T) {
	refused := 0
	for name, schema := range corpusOddSchemas() {
		if err := corpusPassGate(schema); err != nil {
			refused++
			t.Logf("%s: %v", name, err)
		}
	}
	if refused > 8 {
		t.Errorf("%d odd schemas refused", refused)
	}
	for depth, list := range map[int][]string{1: corpusMadeSchemas(400, 1), 3: corpusMadeSchemas(400, 3)} {
		refused := 0
		var last error
		for _, schema := range list {
			if err := corpusPassGate(schema); err != nil {
				refused++
				last = err
			}
		}
		t.Logf("depth %d: %d of %d refused, such as %v", depth, refused, len(list), last)
		if refused > len(list)/8 {
			t.Errorf("%d of %d refused", refused, len(list))
		}
	}
}
