// Package loginpage is the page that a browser shows when it comes back from a
// login.
package loginpage

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const style = "body{font:1.1em/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}" +
	"pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5em}form{margin:1em 0}"

// Head begins a page whose {title} is filled in, see [Fill].
const Head = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>` + style + `</style>
<h1>{title}</h1>
`

// Write answers with a page. title and text are the program's own words: nothing
// of the request belongs in them. The page loads nothing and runs nothing.
func Write(w http.ResponseWriter, status int, title, text string) error {
	Protect(w.Header())
	return send(w, status, Fill(Head+"<p>{text}</p>\n</html>\n", "title", title, "text", text))
}

// WriteForms answers with a page that begins with [Head], and whose forms are sent to its own address.
func WriteForms(w http.ResponseWriter, page string) error {
	h := w.Header()
	Protect(h)
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), "form-action 'none'", "form-action 'self'", 1))
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form has no origin
	return send(w, http.StatusOK, page)
}

func send(w http.ResponseWriter, status int, page string) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(status)
	_, err := io.WriteString(w, page)
	return err
}

// Fill returns a page with each {name} replaced by the value that follows the name, in which HTML is
// escaped: {name} stands in text or in a quoted attribute. The page is no html/template, with which the
// linker would keep all methods of all types in a program.
func Fill(page string, pairs ...string) string {
	escaped := make([]string, len(pairs))
	for i, value := range pairs {
		escaped[i] = html.EscapeString(value)
		if i%2 == 0 {
			escaped[i] = "{" + value + "}"
		}
	}
	return strings.NewReplacer(escaped...).Replace(page)
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
