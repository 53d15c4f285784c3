package wildtest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The comparison sees what encoding/json would change.
func TestSameTokens(t *testing.T) {
	const text = `{"a":0.10,"b":[1e400,"\u2028"]}`
	assert.OK(t, SameTokens([]byte("{ \"a\": 0.10, \"b\":[1e400,\"\u2028\"] }"), []byte(text)))
	for _, other := range []string{
		"", `{"a":0.1,"b":[1e400,"\u2028"]}`, `{"b":[1e400,"\u2028"],"a":0.10}`, `{"a":0.10,"b":[1e400,"\u2028"],"c":1}`, `{"a":0.10,"b":[1e400]}`, text + "{}",
	} {
		assert.Fails(t, SameTokens([]byte(other), []byte(text)), "%s", other)
	}
}
