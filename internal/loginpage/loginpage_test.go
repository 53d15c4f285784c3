package loginpage_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/loginpage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	assert.OK(t, loginpage.Write(w, http.StatusGone, "A <title>", `"text" & <b>`))
	body := w.Body.String()
	assert.ContainsAll(t, body, "<title>A &lt;title&gt;</title>", "<h1>A &lt;title&gt;</h1>", "<p>&#34;text&#34; &amp; &lt;b&gt;</p>")
	_, rest, _ := strings.Cut(body, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"Content-Type":           "text/html; charset=utf-8",
		"Cache-Control":          "no-store",
		"Referrer-Policy":        "no-referrer",
		"X-Content-Type-Options": "nosniff",
	} {
		assert.Equal(t, w.Header().Get(name), want, "%s", name)
	}
	assert.Equal(t, w.Code, http.StatusGone, "status")
}

// A form may be sent to its own page, and to no other.
func TestWriteForms(t *testing.T) {
	w := httptest.NewRecorder()
	assert.OK(t, loginpage.WriteForms(w, "<form>"))
	assert.Equal(t, w.Body.String(), "<form>")
	assert.Contains(t, w.Header().Get("Content-Security-Policy"), "; form-action 'self';")
	assert.Equal(t, w.Header().Get("Referrer-Policy"), "same-origin")
}

// A value is not looked at again: what stands in one is no name.
func TestFill(t *testing.T) {
	got := loginpage.Fill(`<a href="{url}">{host}</a>{other}`, "url", `https://as.example/?a=1&b="{host}"`, "host", "<as>")
	assert.Equal(t, got, `<a href="https://as.example/?a=1&amp;b=&#34;{host}&#34;">&lt;as&gt;</a>{other}`)
}
