// Package loginpage is the page that a browser shows when it comes back from a
// login.
package loginpage

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
)

const style = "body{font:1.1em/1.5 sans-serif;max-width:34em;margin:4em auto;padding:0 1em}"

const page = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>` + style + `</style>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
</html>
`

// Write answers with a page. title and text are the program's own words: nothing
// of the request belongs in them. The page loads nothing and runs nothing.
func Write(w http.ResponseWriter, status int, title, text string) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := t.Execute(&body, struct{ Title, Text string }{title, text}); err != nil {
		return err
	}
	Protect(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, err = w.Write(body.Bytes())
	return err
}

// Protect sets the header fields by which an answer is kept nowhere, and the
// address it was reached by, which has the login in it, is not passed on.
func Protect(h http.Header) {
	sum := sha256.Sum256([]byte(style))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}
