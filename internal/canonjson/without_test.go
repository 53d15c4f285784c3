package canonjson

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestWithout(t *testing.T) {
	for object, want := range map[string]string{
		`{ "a" : 1e2, "b":{ } }`: `{"b":{ }}`, `{"a":1}`: `{}`, `{ "b":1 }`: `{ "b":1 }`, `{"\u0061":1,"c":2,"d":"\u00e9"}`: `{"c":2,"d":"\u00e9"}`, `[1]`: `[1]`,
	} {
		assert.Equal(t, string(Without(json.RawMessage(object), "a")), want, "%s", object)
	}
}
