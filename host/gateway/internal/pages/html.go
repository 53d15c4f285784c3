package pages

import (
	_ "embed" // the parts of pages
	"net/url"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/loginpage"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/session"
)

// The parts of pages, each behind its name, see [loginpage.Fill]. The two forms of a call are apart, so that the Enter key
// in the note refuses.
//
//go:embed pages.html
var parts string

// part returns a part of a page.
func part(name string) string {
	_, text, _ := strings.Cut(parts, "<!-- "+name+" -->\n")
	text, _, _ = strings.Cut(text, "<!-- ")
	return text
}

// partIf returns a part of a page that has it, or nothing.
func partIf(is bool, name string) string {
	if is {
		return part(name)
	}
	return ""
}

// keyPage asks who opens the page of an errand.
func keyPage(e *Errand, token string) string {
	page := loginpage.Head + partIf(e.Call == nil, "login wanted") + partIf(e.Call != nil, "call wanted") + part("key")
	return loginpage.Fill(page, "title", "Who are you?", "token", token, "server", plain.Line(e.Login.Server))
}

// callPage asks the person whose call it is whether it may be made.
func callPage(e *Errand, token string) string {
	page := loginpage.Head + part("tool") + partIf(e.Call.Tool.Origin.Server != "", "server") + partIf(e.Call.Reason != "", "reason") +
		part("call") + partIf(e.Session, "conversation") + part("refuse")
	return loginpage.Fill(page, "title", "May this call be made?", "token", token,
		"tool", plain.Line(e.Call.Tool.Name), "server", plain.Line(e.Call.Tool.Origin.Server), "reason", plain.Line(e.Call.Reason),
		"args", shown(e.Call.Args), "expires", e.Expires.UTC().Format("15:04:05 MST"))
}

// goPage sends the person on to where they log in.
func goPage(e *Errand, l *session.Login) string {
	to, err := url.Parse(l.URL)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" {
		to = &url.URL{} // the link leads nowhere
	}
	page := loginpage.Head + partIf(l.UserCode != "", "code") + part("link")
	return loginpage.Fill(page, "title", "Log in", "code", plain.Line(l.UserCode), "server", plain.Line(e.Login.Server),
		"url", to.String(), "host", to.Host)
}
