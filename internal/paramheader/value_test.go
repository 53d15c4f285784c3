package paramheader

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "plain", " blank ", "café", "a\r\nb", "=?base64?eA==?=", "=?base64?", "\t", "\x7f", "=?base64??="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encoded := Encode(value)
		assert.Equal(t, httpfield.ValidValue(encoded), true, "httpfield.ValidValue(encoded)")
		assert.Equal(t, encoded, strings.TrimSpace(encoded))
		if decoded, ok := Decode(encoded); !ok || decoded != value {
			t.Fatalf("got %q, %t, want %q", decoded, ok, value)
		}
	})
}
