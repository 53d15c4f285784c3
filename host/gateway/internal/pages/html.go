package pages

import (
	"net/url"

	"github.com/mcpbelt/mcpbelt/internal/loginpage"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/session"
)

// Parts of pages, see [loginpage.Fill]. The two forms of a call are apart, so that the Enter key in the note refuses.
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
	callConversation = `<button name="decision" value="conversation">Approve for this conversation</button>
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
	wanted := callWanted
	if e.Call == nil {
		wanted = loginWanted
	}
	return loginpage.Fill(loginpage.Head+wanted+keyForm, "title", "Who are you?", "token", token, "server", plain.Line(e.Login.Server))
}

// callPage asks the person whose call it is whether it may be made.
func callPage(e *Errand, token string) string {
	part := func(is bool, text string) string {
		if is {
			return text
		}
		return ""
	}
	page := loginpage.Head + callTool + part(e.Call.Tool.Origin.Server != "", callServer) + "." + part(e.Call.Reason != "", callReason) +
		callForm + part(e.Session, callConversation) + callRefuse
	return loginpage.Fill(page, "title", "May this call be made?", "token", token,
		"tool", plain.Line(e.Call.Tool.Name), "server", plain.Line(e.Call.Tool.Origin.Server), "reason", plain.Line(e.Call.Reason),
		"args", shown(e.Call.Args), "expires", e.Expires.UTC().Format("15:04:05 MST"))
}

// goPage sends the person on to where they log in.
func goPage(e *Errand, l *session.Login) string {
	page := loginpage.Head
	if l.UserCode != "" {
		page += loginCode
	}
	to, err := url.Parse(l.URL)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" {
		to = &url.URL{} // the link leads nowhere
	}
	return loginpage.Fill(page+loginLink, "title", "Log in", "code", plain.Line(l.UserCode), "server", plain.Line(e.Login.Server),
		"url", to.String(), "host", to.Host)
}
