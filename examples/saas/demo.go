package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// storyTime bounds the story.
const storyTime = 2 * time.Minute

// run plays the story of two users, whose browsers speak to the service as any do. Where it matters which replica serves
// a request, it goes there and not to the balancer.
func (p *play) run(ctx context.Context, out io.Writer, service string, replicas []*child) error {
	ctx, cancel := context.WithTimeout(ctx, storyTime)
	defer cancel()
	a, b := "http://"+replicas[0].said, "http://"+replicas[1].said
	alice, bob := newBrowser(ctx, "alice"), newBrowser(ctx, "bob")
	var err error
	step := func(what string, do func()) {
		if err != nil {
			return
		}
		do()
		if err = alice.err; err == nil {
			err = bob.err
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
			return
		}
		fmt.Fprintln(out, "-", what)
	}

	step("alice and bob sign in", func() {
		alice.post(service, "/signin", "user", "alice")
		bob.post(service, "/signin", "user", "bob")
	})
	step("alice adds the server notes, and bob adds clock", func() {
		alice.post(service, "/servers", "name", "notes", "url", p.notes, "trust", "on")
		bob.post(service, "/servers", "name", "clock", "url", p.clock, "trust", "on")
		bob.until(a, "clock: ready, 1 tools")
		bob.until(b, "clock: ready, 1 tools")
	})
	var page, milk, lost string
	step("replica A begins the login of alice at notes", func() {
		alice.until(a, "Log in at notes")
		page = alice.link(alice.post(a, "/servers/notes/login"))
	})
	step("replica B completes it, when her browser comes back", func() {
		alice.comeBack(p.authorization, page, service, b)
		alice.until(b, "notes: ready, 2 tools")
		alice.until(a, "notes: ready, 2 tools")
	})
	step("her agent at A calls a tool of the service, and one of notes", func() {
		alice.post(a, "/prompt", "prompt", "today; notes__list")
		alice.until(a, "agent at A: today: "+time.Now().UTC().Format("2006"))
		alice.until(a, "agent at A: notes__list: the notes of alice are []")
	})
	step("a call of it waits at A for her approval", func() {
		alice.post(a, "/prompt", "prompt", `notes__add {"text": "buy milk"}`)
		alice.until(a, "agent at A: notes__add waits for you")
	})
	step("she approves it at B, and A makes it", func() {
		milk = alice.waiting(b)
		alice.post(b, milk, "decision", "approve")
		alice.until(b, "agent at A: notes__add: written down")
	})
	step("bob's agent calls clock, and knows nothing of notes", func() {
		bob.post(b, "/prompt", "prompt", "clock__now; notes__list")
		bob.until(b, "agent at B: clock__now: it is")
		bob.until(b, `agent at B: notes__list: `)
		bob.lacks(b, "milk")
	})
	step("another call waits at A, and A is killed", func() {
		alice.post(a, "/prompt", "prompt", `notes__add {"text": "call bob"}`)
		lost = alice.waiting(b, milk)
		replicas[0].kill()
	})
	step("the service goes on at B: her agent makes the call again, and she approves it", func() {
		alice.post(service, "/prompt", "prompt", `notes__add {"text": "call bob"}`)
		alice.until(service, "agent at B: notes__add waits for you")
		alice.post(service, alice.waiting(service, milk, lost), "decision", "approve")
		alice.until(service, "agent at B: notes__add: written down")
	})
	step("nothing is lost, or was done twice, and no login was asked for again", func() {
		alice.post(service, "/prompt", "prompt", "notes__list")
		alice.until(service, `agent at B: notes__list: the notes of alice are ["buy milk" "call bob"]`)
		bob.post(service, "/prompt", "prompt", "clock__now")
		bob.until(service, "bob: clock__now\nagent at B: clock__now: it is")
		if n := p.authorization.Count(authtest.AuthorizationEndpoint); n != 1 {
			alice.fail(fmt.Errorf("got %d logins, want 1", n))
		}
	})
	alice.client.CloseIdleConnections()
	bob.client.CloseIdleConnections()
	return err
}

// A browser is that of a user. After an error it does nothing more.
type browser struct {
	ctx    context.Context
	user   string
	client *http.Client
	err    error
}

func newBrowser(ctx context.Context, user string) *browser {
	jar, err := cookiejar.New(nil)
	return &browser{ctx: ctx, user: user, client: &http.Client{Jar: jar, Transport: &http.Transport{}}, err: err}
}

func (b *browser) fail(err error) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: %w", b.user, err)
	}
}

// send sends a request, follows where it leads, and returns the text of the page there.
func (b *browser) send(method, address string, form url.Values) string {
	if b.err != nil {
		return ""
	}
	req, err := http.NewRequestWithContext(b.ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.fail(err)
		return ""
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.fail(err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		b.fail(fmt.Errorf("%s %s: %s: %s: %w", method, address, res.Status, body, err))
	}
	return html.UnescapeString(string(body))
}

// post sends a form of names and values.
func (b *browser) post(base, path string, fields ...string) string {
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.send(http.MethodPost, base+path, form)
}

// await looks at the page again and again until it is as wanted.
func (b *browser) await(base, want string, is func(page string) bool) {
	for b.err == nil {
		page := b.send(http.MethodGet, base+"/", nil)
		if b.err != nil || is(page) {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-b.ctx.Done():
			b.fail(fmt.Errorf("got the page %s, want %s", page, want))
		}
	}
}

func (b *browser) until(base, want string) {
	b.await(base, want, func(page string) bool { return strings.Contains(page, want) })
}

func (b *browser) lacks(base, text string) {
	if page := b.send(http.MethodGet, base+"/", nil); strings.Contains(page, text) {
		b.fail(fmt.Errorf("got the page %s, want no %s there", page, text))
	}
}

// waiting waits until a call waits for approval that is none of those known, and returns where it is answered.
func (b *browser) waiting(base string, known ...string) (path string) {
	form := regexp.MustCompile(`action="(/calls/[^"]+)"`)
	b.await(base, "another call that waits", func(page string) bool {
		for _, match := range form.FindAllStringSubmatch(page, -1) {
			if path = match[1]; !slices.Contains(known, path) {
				return true
			}
		}
		return false
	})
	return path
}

// link returns where a page says to log in.
func (b *browser) link(page string) string {
	match := regexp.MustCompile(`href="([^"]+)" rel`).FindStringSubmatch(page)
	if match == nil {
		b.fail(fmt.Errorf("got the page %s, want a link", page))
		return ""
	}
	return match[1]
}

// comeBack logs in where a page is, and has the browser come back to one of the replicas.
func (b *browser) comeBack(authorization *authtest.Server, page, service, replica string) {
	if b.err != nil {
		return
	}
	callback, err := authorization.ApproveAs(b.ctx, b.user, page)
	if err != nil {
		b.fail(err)
	}
	b.send(http.MethodGet, strings.Replace(callback, service, replica, 1), nil)
}
