package rest

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A token is visible ASCII (RFC 6749, appendix A.12), and nothing else is sent as one.
func TestTextsThatAreNoTokens(t *testing.T) {
	s := &source{}
	for _, text := range []string{"", "a b", "a\x7fb", "a\u00e9", "a\r\nb", "\x00", strings.Repeat("a", maxToken+1)} {
		if got, err := s.token(text, time.Hour, time.Now()); err == nil {
			t.Errorf("%.20q is the token %.20q", text, got.text)
		}
	}
	assert.Value(s.token("a~!", time.Hour, time.Now()))(t)
}
