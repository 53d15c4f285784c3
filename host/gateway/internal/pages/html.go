package pages

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"

	"github.com/mcpbelt/mcpbelt/internal/loginpage"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/session"
)

const style = `body{font:1.1em/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5em}form{margin:1em 0}`

const head = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>` + style + `</style>
<h1>{title}</h1>
`

// Parts of pages, see loginpage.Fill. The two forms of a call are apart, so that the Enter key in the note refuses.
const (
	loginWanted = `<p>A program wants you to log in at the server {server}.`
	callWanted  = `<p>A program asks whether it may make a call.`
	keyForm     = `
To show that it is yours, give the API key that it uses for this gateway. The key is compared, and not kept.</p>
<form method="post">
<input type="hidden" name="token" value="{token}">
<label>API key <input type="password" name="key" autocomplete="off" required></label>
<button>Go on</button>
</form>
</html>
`

	callTool   = `<p>Tool <b>{tool}</b>`
	callServer = ` of the server <b>{server}</b>`
	callReason = ` You are asked because: {reason}`
	callForm   = `</p>
<p>With these arguments:</p>
<pre>{args}</pre>
<p>The call waits until {expires}.</p>
<form method="post">
<input type="hidden" name="token" value="{token}">
<button name="decision" value="approve">Approve</button>
`
	callSession = `<button name="decision" value="session">Approve for this session</button>
`
	callRefuse = `</form>
<form method="post">
<input type="hidden" name="token" value="{token}">
<button name="decision" value="refuse">Refuse</button>
<label>because <input name="note" maxlength="500"></label>
</form>
</html>
`

	loginCode = `<p>Type this code there: <b>{code}</b></p>
`
	loginLink = `<p>Log in at the server {server}: <a href="{url}" rel="noreferrer">go on to {host}</a></p>
</html>
`
)

// keyPage asks who opens the page of an errand.
func keyPage(e *Errand, token string) string {
	if e.Call != nil {
		return loginpage.Fill(head+callWanted+keyForm, "title", "Who are you?", "token", token)
	}
	return loginpage.Fill(head+loginWanted+keyForm, "title", "Who are you?", "token", token, "server", plain.Line(e.Login.Server))
}

// callPage asks the person whose call it is whether it may be made.
func callPage(e *Errand, token string) string {
	parts := head + callTool
	if e.Call.Tool.Origin.Server != "" {
		parts += callServer
	}
	parts += "."
	if e.Call.Reason != "" {
		parts += callReason
	}
	parts += callForm
	if e.Session {
		parts += callSession
	}
	return loginpage.Fill(parts+callRefuse, "title", "May this call be made?", "token", token,
		"tool", plain.Line(e.Call.Tool.Name), "server", plain.Line(e.Call.Tool.Origin.Server), "reason", plain.Line(e.Call.Reason),
		"args", shown(e.Call.Args), "expires", e.Expires.UTC().Format("15:04:05 MST"))
}

// goPage sends the person on to where they log in.
func goPage(e *Errand, l *session.Login) string {
	parts := head
	if l.UserCode != "" {
		parts += loginCode
	}
	to, err := url.Parse(l.URL)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" {
		to = &url.URL{} // the link leads nowhere
	}
	return loginpage.Fill(parts+loginLink, "title", "Log in", "code", plain.Line(l.UserCode), "server", plain.Line(e.Login.Server),
		"url", to.String(), "host", to.Host)
}

// write answers with a page, which loads nothing, runs nothing, and is kept nowhere. Its forms are sent to itself.
func (d *Desk) write(w http.ResponseWriter, page string) {
	h := w.Header()
	sum := sha256.Sum256([]byte(style))
	loginpage.Protect(h)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form has no origin
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, page)
}

// say answers with a page of a few words of this program's own.
func (d *Desk) say(w http.ResponseWriter, status int, title, text string) {
	_ = loginpage.Write(w, status, title, text)
}

func newCookie() string { return rand.Text() }
