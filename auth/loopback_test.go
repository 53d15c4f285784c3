package auth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A login is one that a Loopback shows.
type login struct {
	auth.PromptSession
	shown <-chan returned
	out   *screen
}

// show begins a login and returns when its page was opened.
func show(t *testing.T, registered ...string) *login {
	t.Helper()
	l := &login{out: newScreen()}
	opened := make(chan string, 1)
	loopback := &auth.Loopback{Out: l.out, Open: func(_ context.Context, url string) error { opened <- url; return nil }}
	l.PromptSession = assert.Value(loopback.Start(t.Context(), registered))(t)
	t.Cleanup(func() { assert.OK(t, l.Close()) })
	shown := make(chan returned, 1)
	l.shown = shown
	go func() {
		callback, err := l.Show(t.Context(), pending(l.RedirectURI()))
		shown <- returned{callback, err}
	}()
	<-opened
	return l
}

// get requests something as a browser does, with another Host field if host is
// not empty.
func get(t *testing.T, method, target, host string) (*http.Response, string) {
	t.Helper()
	req := assert.Value(http.NewRequestWithContext(t.Context(), method, target, nil))(t)
	req.Host = host
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res := assert.Value(client.Do(req))(t)
	defer res.Body.Close()
	return res, string(assert.Value(io.ReadAll(res.Body))(t))
}

func TestLoopback(t *testing.T) {
	//report: Logins | nicobailon/pi-mcp-adapter#60, anthropics/claude-code#90370 | Datadog and others take a redirect URI of 127.0.0.1 with a port, and none of the name localhost | that is the default, with the port that was registered
	l := show(t)
	port := assert.Value(url.Parse(l.RedirectURI()))(t).Port()
	assert.Equal(t, l.RedirectURI(), "http://127.0.0.1:"+port+"/callback", "redirect URI")
	l.out.await("Server \"notes\" needs you to log in at https://as.example\n", 1)
	l.out.await("\n  https://as.example/authorize?client_id=1&state="+state+"\n", 1)

	want := l.RedirectURI() + "?code=c%2Bd&iss=https%3A%2F%2Fas.example&state=" + state
	res, body := get(t, "GET", want, "")
	assert.Equal(t, res.StatusCode, http.StatusOK, "status")
	assert.Contains(t, body, "Almost done", "page")
	assert.True(t, res.Close, "the connection is closed")
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	} {
		assert.Equal(t, res.Header.Get(name), value, "%s", name)
	}
	assert.Contains(t, res.Header.Get("Content-Security-Policy"), "default-src 'none';", "policy")
	// Until the login is closed.
	res, _ = get(t, "GET", want, "")
	assert.Equal(t, res.StatusCode, http.StatusGone, "second callback")
	wantShown(t, l.shown, want)
}

// Nothing but the answer to the login that is shown ends it, and whatever comes
// does not show up on the page.
func TestLoopbackJunk(t *testing.T) {
	l := show(t)
	u, _ := url.Parse(l.RedirectURI())
	answer := "/callback?code=canary&state=" + state
	for _, test := range []struct {
		method, target, host string
		status               int
	}{
		{"GET", "/", "", 404},
		{"GET", "/favicon.ico", "", 404},
		{"GET", "/callback/?code=canary&state=" + state, "", 404},
		{"GET", "//callback?code=canary&state=" + state, "", 404},
		{"GET", "/x/../callback?code=canary&state=" + state, "", 404},
		{"GET", "/callbac%6b?code=canary&state=" + state, "", 404},
		{"POST", answer, "", 405},
		{"HEAD", answer, "", 405},
		{"OPTIONS", answer, "", 405},
		{"GET", answer, "evil.example", 421},
		{"GET", answer, "evil.example:" + u.Port(), 421},
		{"GET", answer, "localhost:" + u.Port(), 421},
		{"GET", answer, "127.0.0.1", 421},
		{"GET", answer, "127.0.0.1:1", 421},
		{"GET", "/callback", "", 400},
		{"GET", "/callback?code=canary", "", 400},
		{"GET", "/callback?code=canary&state=", "", 400},
		{"GET", "/callback?code=canary&state=canary", "", 400},
		{"GET", "/callback?code=canary&state=" + state + "x", "", 400},
		{"GET", "/callback?error=canary&error_description=%3Cscript%3Ecanary&state=" + state[1:], "", 400},
		{"GET", "/callback?code=canary&state=" + state + "&state=" + state, "", 400},
		{"GET", "/callback?code=canary&state=canary&state=" + state, "", 400},
		{"GET", "/callback?code=canary#state=" + state, "", 400},
		{"GET", "/callback?code=" + strings.Repeat("canary", 20_000) + "&state=" + state, "", 431},
	} {
		res, body := get(t, test.method, "http://"+u.Host+test.target, test.host)
		assert.Equal(t, res.StatusCode, test.status, "%s %.60s of %s: status", test.method, test.target, test.host)
		assert.Equal(t, res.Header.Get("Allow") == "GET", test.status == 405, "%s: allows GET alone", test.method)
		assert.Lacks(t, body+fmt.Sprint(res.Header), "canary", "%s %.60s: echoed", test.method, test.target)
	}
	select {
	case got := <-l.shown:
		t.Fatalf("came back at %q, %v", got.callback, got.err)
	default:
	}
	want := l.RedirectURI() + "?error=access_denied&error_description=%3Cb%3Ecanary&state=" + state
	res, body := get(t, "GET", want, "")
	assert.Equal(t, res.StatusCode, 200, "status")
	assert.Contains(t, body, "Not logged in", "page")
	assert.Lacks(t, body, "canary", "page")
	wantShown(t, l.shown, want)
}

// Not even the right answer is one before the login is shown, nor to a login
// without a state.
func TestLoopbackEarly(t *testing.T) {
	p := assert.Value((&auth.Loopback{Out: io.Discard}).Start(t.Context(), nil))(t)
	defer p.Close()
	for _, query := range []string{"?code=1&state=" + state, "?code=1&state="} {
		res, _ := get(t, "GET", p.RedirectURI()+query, "")
		assert.Equal(t, res.StatusCode, 400, "status")
	}
}

// Of many hits one is the answer.
func TestLoopbackOneHit(t *testing.T) {
	l := show(t)
	statuses := make(chan int)
	for i := range 20 {
		go func() {
			res, _ := get(t, "GET", fmt.Sprintf("%s?code=%d&state=%s", l.RedirectURI(), i, state), "")
			statuses <- res.StatusCode
		}()
	}
	count := map[int]int{}
	for range 20 {
		count[<-statuses]++
	}
	assert.Equal(t, [...]any{count[200], count[410]}, [...]any{1, 19}, "statuses")
	assert.OK(t, (<-l.shown).err)
}

// The page arrives although the login is closed as soon as its answer is here,
// with connections open that say nothing. Nothing listens any more then.
func TestLoopbackClose(t *testing.T) {
	for range assert.Cases(3, 20) {
		loopback := &auth.Loopback{Out: io.Discard, Open: func(context.Context, string) error { return nil }}
		p := assert.Value(loopback.Start(t.Context(), nil))(t)
		closed := showing(t.Context(), p, pending(p.RedirectURI()))
		u, _ := url.Parse(p.RedirectURI())
		silent := assert.Value(net.Dial("tcp", u.Host))(t)
		for status := 0; status != 200; { // not before it is shown
			res, body := get(t, "GET", p.RedirectURI()+"?code=1&state="+state, "")
			status = res.StatusCode
			assert.Contains(t, body, "</html>", "page")
		}
		assert.OK(t, (<-closed).err)
		assert.Fails(t, errOf(silent.Read(make([]byte, 1))), "a connection is still open")
		_ = silent.Close()
		assert.Fails(t, errOf(net.Dial("tcp", u.Host)), "something still listens")
	}
}

func TestLoopbackEnds(t *testing.T) {
	loopback := &auth.Loopback{Out: io.Discard, Open: func(context.Context, string) error { return nil }}
	p := assert.Value(loopback.Start(t.Context(), nil))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Show(ctx, pending(""))
	assert.Is(t, err, context.Canceled)
	assert.Lacks(t, err.Error(), state)
	late := pending("")
	late.Expires = time.Unix(1, 0)
	assert.Is(t, errOf(p.Show(t.Context(), late)), context.DeadlineExceeded)
	ended := showing(t.Context(), p, pending(""))
	assert.OK(t, errors.Join(p.Close(), p.Close()))
	assert.Contains(t, (<-ended).err.Error(), `server "notes"`)
}

func TestLoopbackNoBrowser(t *testing.T) {
	out := newScreen()
	loopback := &auth.Loopback{Out: out, Open: func(context.Context, string) error { return errors.New("none") }}
	p := assert.Value(loopback.Start(t.Context(), nil))(t)
	defer p.Close()
	ended := showing(t.Context(), p, pending(""))
	out.await("No browser opened. Open the page yourself.\n", 1)
	get(t, "GET", p.RedirectURI()+"?code=1&state="+state, "")
	assert.OK(t, (<-ended).err)
	// Neither a browser nor a terminal.
	loopback.Out = broken{}
	p = assert.Value(loopback.Start(t.Context(), nil))(t)
	defer p.Close()
	_, err := p.Show(t.Context(), pending(""))
	assert.Fails(t, err)
	assert.Lacks(t, err.Error(), state)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestLoopbackDevice(t *testing.T) {
	for complete, want := range map[string]string{"": "https://as.example/device", "https://as.example/device?c=1": "https://as.example/device?c=1"} {
		out, opened := newScreen(), ""
		loopback := &auth.Loopback{Out: out, Open: func(_ context.Context, url string) error { opened = url; return nil }}
		p := assert.Value(loopback.Start(t.Context(), nil))(t)
		login := pending("")
		login.URL, login.Device = "https://as.example/device", &auth.Device{UserCode: "ABCD-EFGH", CompleteURL: complete}
		callback, err := p.Show(t.Context(), login)
		assert.Equal(t, callback, "", "callback")
		assert.OK(t, err)
		assert.Equal(t, opened, want, "opened")
		assert.Contains(t, out.String(), "\n  https://as.example/device\nand type this code there:\n  ABCD-EFGH\n", "shown")
		assert.Value(p.Show(t.Context(), hostile()))(t)
		_ = p.Close()
		checkHarmless(t, out.String())
	}
}

// freePort returns a port of 127.0.0.1 that is free, and ::1 neither. It is not one
// of those that a system gives to who asks for any: it stays free.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		v4, err4 := net.Listen("tcp", "127.0.0.1:"+port)
		if err4 == nil {
			_ = v4.Close()
		}
		v6, err6 := net.Listen("tcp", "[::1]:"+port)
		if err6 == nil {
			_ = v6.Close()
		}
		if err4 == nil && !errors.Is(err6, syscall.EADDRINUSE) {
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestLoopbackRegistered(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	free := freePort(t)
	for name, test := range map[string]struct {
		registered []string
		want       string // with the port "any" if another one is all right
	}{
		"nothing":         {nil, "http://127.0.0.1:any/callback"},
		"not ours":        {[]string{"https://app.example/callback", "https://127.0.0.1/x", "http://app.example/", "urn:x", "%", "http://ann@127.0.0.1:1/"}, "http://127.0.0.1:any/callback"},
		"exactly":         {[]string{"https://app.example/", "http://127.0.0.1:" + free + "/x/%2F?y=1"}, "http://127.0.0.1:" + free + "/x/%2F?y=1"},
		"first free":      {[]string{taken.URL + "/a", "http://127.0.0.1:" + free + "/b"}, "http://127.0.0.1:" + free + "/b"},
		"taken":           {[]string{taken.URL + "/a"}, "http://127.0.0.1:any/a"},
		"without a port":  {[]string{"http://127.0.0.1/a"}, "http://127.0.0.1:any/a"},
		"without a path":  {[]string{"http://127.0.0.1:" + free}, "http://127.0.0.1:" + free},
		"by name":         {[]string{"http://localhost:" + free + "/a"}, "http://localhost:" + free + "/a"},
		"by name, random": {[]string{"http://localhost/a"}, "http://localhost:any/a"},
		"by name, taken":  {[]string{strings.Replace(taken.URL, "127.0.0.1", "localhost", 1) + "/a"}, "http://localhost:any/a"},
	} {
		t.Run(name, func(t *testing.T) {
			l := show(t, test.registered...)
			got := l.RedirectURI()
			u := assert.Value(url.Parse(got))(t)
			assert.Equal(t, got, strings.Replace(test.want, "any", u.Port(), 1), "redirect URI")
			assert.True(t, u.Port() != "" && u.Port() != "0", "the port %q is one", u.Port())
			query := u.Query()
			query.Set("code", "1")
			query.Set("state", state)
			u.RawQuery = query.Encode()
			res, _ := get(t, "GET", u.String(), "")
			assert.Equal(t, res.StatusCode, 200, "status")
			assert.OK(t, (<-l.shown).err)
		})
	}
}

// Of two addresses of localhost no other program has one.
func TestLoopbackLocalhost(t *testing.T) {
	//report: Logins | apify/mcpc#269, cognizant-ai-lab/nsflow#233, anomalyco/opencode#31033 | Salesforce and firewalls of AWS take a redirect URI of localhost, and none of 127.0.0.1 | a redirect URI that is configured so is used, and both addresses of localhost are listened at
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6: ", err)
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	l := show(t, "http://localhost:"+port+"/a")
	u, _ := url.Parse(l.RedirectURI())
	assert.True(t, u.Port() != port, "redirect URI %q", l.RedirectURI())
	res, _ := get(t, "GET", "http://[::1]:"+u.Port()+"/a?code=1&state="+state, u.Host)
	assert.Equal(t, res.StatusCode, 200, "status")
	<-l.shown
}

// Connections that say nothing are bounded, and do not keep the answer out for
// good.
func TestLoopbackConns(t *testing.T) {
	l := show(t)
	u, _ := url.Parse(l.RedirectURI())
	var silent []net.Conn
	for range 64 {
		c := assert.Value(net.Dial("tcp", u.Host))(t)
		defer c.Close()
		silent = append(silent, c)
	}
	more := assert.Value(net.Dial("tcp", u.Host))(t)
	defer more.Close()
	if _, err := fmt.Fprintf(more, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", u.Host); err == nil {
		assert.Fails(t, errOf(bufio.NewReader(more).ReadString('\n')), "one more connection was served")
	}
	for _, c := range silent {
		_ = c.Close()
	}
	for {
		res, err := http.Get(l.RedirectURI() + "?code=1&state=" + state)
		if err == nil {
			_ = res.Body.Close()
			break
		} // those that were closed may still count
	}
	assert.OK(t, (<-l.shown).err)
}

func ExampleLoopback() {
	ctx := context.Background()
	loopback := &auth.Loopback{
		Out: io.Discard,
		Open: func(_ context.Context, page string) error { // a browser in which the user logs in at once
			u, err := url.Parse(page)
			if err != nil {
				return err
			}
			res, err := http.Get(u.Query().Get("redirect_uri") + "?code=1&state=" + u.Query().Get("state"))
			if err != nil {
				return err
			}
			return res.Body.Close()
		},
	}
	login, err := loopback.Start(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer login.Close()
	callback, err := login.Show(ctx, &auth.Pending{
		Server: "notes", State: "s",
		URL: "https://as.example/authorize?state=s&redirect_uri=" + url.QueryEscape(login.RedirectURI()),
	})
	fmt.Println(strings.TrimPrefix(callback, login.RedirectURI()), err)
	// Output:
	// ?code=1&state=s <nil>
}

// The system's program for opening pages gets the URL as one argument, and gets
// none that is no page.
func TestLoopbackOpens(t *testing.T) {
	name := map[string]string{"linux": "xdg-open", "freebsd": "xdg-open", "darwin": "open"}[runtime.GOOS]
	if name == "" {
		t.Skip("no scripts here")
	}
	folder := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > '"+folder+"/args'\n"), 0o755))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, test := range []struct {
		page   string
		opened bool
	}{
		{"https://as.example/authorize?a=$(touch${IFS}hit)&b=`hit`;hit|hit&state=" + state, true},
		{"https://as.example/--version?'\"&state=" + state, true},
		{"file:///etc/passwd", false},
		{"javascript:alert(1)", false},
		{"--version", false},
		{"https://as.example/ --version", false},
		{"https://ann@as.example/", false},
		{"https://as.example/\n", false},
	} {
		p := assert.Value((&auth.Loopback{Out: io.Discard}).Start(t.Context(), nil))(t)
		login := pending(p.RedirectURI())
		login.URL, login.Device = test.page, &auth.Device{UserCode: "1"} // so that no browser is waited for
		assert.Value(p.Show(t.Context(), login))(t)
		_ = p.Close()
		args, _ := os.ReadFile(filepath.Join(folder, "args"))
		want := ""
		if test.opened {
			want = "1\n" + test.page + "\n"
		}
		assert.Equal(t, string(args), want, "%s: the program", test.page)
		_ = os.Remove(filepath.Join(folder, "args"))
	}
}
