package nils

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIs(t *testing.T) {
	var r io.Reader
	for _, v := range []any{nil, r, (*bytes.Buffer)(nil), http.HandlerFunc(nil)} {
		assert.True(t, Is(v), "%T", v)
	}
	for _, v := range []any{&bytes.Buffer{}, bytes.Buffer{}, "", http.HandlerFunc(http.NotFound), []int(nil)} {
		assert.False(t, Is(v), "%T", v)
	}
}
