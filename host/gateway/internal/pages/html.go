package pages

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/mcpbelt/mcpbelt/internal/loginpage"
)

const style = `body{font:1.1em/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5em}form{margin:1em 0}`

// Names of pages. The two forms of a call are apart, so that the Enter key in the note refuses.
const (
	keyPage  = "key"
	callPage = "call"
	goPage   = "go"
)

const html = `
{{- define "head"}}<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.}}</title>
<style>` + style + `</style>
<h1>{{.}}</h1>
{{end}}
{{- define "key"}}{{template "head" "Who are you?"}}
<p>{{if .Login}}A program wants you to log in at the server {{.Server}}{{else}}A program asks whether it may make a call{{end}}.
To show that it is yours, give the API key that it uses for this gateway. The key is compared, and not kept.</p>
<form method="post">
<input type="hidden" name="token" value="{{.Token}}">
<label>API key <input type="password" name="key" autocomplete="off" required></label>
<button>Go on</button>
</form>
</html>
{{end}}
{{- define "call"}}{{template "head" "May this call be made?"}}
<p>Tool <b>{{.Tool}}</b>{{with .Server}} of the server <b>{{.}}</b>{{end}}.{{with .Reason}} You are asked because: {{.}}{{end}}</p>
<p>With these arguments:</p>
<pre>{{.Args}}</pre>
<p>The call waits until {{.Expires}}.</p>
<form method="post">
<input type="hidden" name="token" value="{{.Token}}">
<button name="decision" value="approve">Approve</button>
{{if .Session}}<button name="decision" value="session">Approve for this session</button>
{{end}}</form>
<form method="post">
<input type="hidden" name="token" value="{{.Token}}">
<button name="decision" value="refuse">Refuse</button>
<label>because <input name="note" maxlength="500"></label>
</form>
</html>
{{end}}
{{- define "go"}}{{template "head" "Log in"}}
{{with .Code}}<p>Type this code there: <b>{{.}}</b></p>
{{end}}<p>Log in at the server {{.Server}}: <a href="{{.URL}}" rel="noreferrer">go on to {{.Host}}</a></p>
</html>
{{end}}`

// write answers with a page, which loads nothing, runs nothing, and is kept nowhere. Its forms are sent to itself.
func (d *Desk) write(w http.ResponseWriter, status int, name string, data any) {
	var body bytes.Buffer
	if err := d.html.ExecuteTemplate(&body, name, data); err != nil {
		d.opts.Logger.Warn("gateway: a page cannot be made", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h := w.Header()
	sum := sha256.Sum256([]byte(style))
	loginpage.Protect(h)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form has no origin
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// say answers with a page of a few words of this program's own.
func (d *Desk) say(w http.ResponseWriter, status int, title, text string) {
	_ = loginpage.Write(w, status, title, text)
}

func newCookie() string { return rand.Text() }
