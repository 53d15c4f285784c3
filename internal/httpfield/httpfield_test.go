package httpfield

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"X-Api-Key": true, "a": true, "!#$%&'*+-.^_`|~9": true,
		"": false, "a b": false, "a:b": false, "a\r\n": false, "é": false, "a(b)": false, "@": false, "[": false, "{": false,
	} {
		assert.Equal(t, ValidName(name), want, "%q", name)
	}
}

func TestValidValue(t *testing.T) {
	for value, want := range map[string]bool{
		"": true, "a b\tc": true, "é\u2028": true,
		"a\r\nb: c": false, "\x00": false, "\x7f": false, "\n": false,
	} {
		assert.Equal(t, ValidValue(value), want, "%q", value)
	}
}
