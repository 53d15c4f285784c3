package nils

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIs(t *testing.T) {
	var r io.Reader
	for _, v := range []any{nil, r, (*bytes.Buffer)(nil), http.HandlerFunc(nil)} {
		if !Is(v) {
			t.Errorf("%T: got false, want true", v)
		}
	}
	for _, v := range []any{&bytes.Buffer{}, bytes.Buffer{}, "", http.HandlerFunc(http.NotFound), []int(nil)} {
		if Is(v) {
			t.Errorf("%T: got true, want false", v)
		}
	}
}
