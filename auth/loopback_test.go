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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A login is one that a Loopback shows.
type login struct {
	auth.PromptSession
	shown chan returned
	open  chan string // the page to be opened
	out   *screen
}

// show begins a login and returns when its page was opened.
func show(t *testing.T, registered ...string) *login {
	t.Helper()
	l := &login{shown: make(chan returned, 1), open: make(chan string, 1), out: &screen{}}
	loopback := &auth.Loopback{Out: l.out, Open: func(_ context.Context, url string) error { l.open <- url; return nil }}
	var err error
	if l.PromptSession, err = loopback.Start(t.Context(), registered); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	t.Cleanup(func() {
		once.Do(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	})
	go func() {
		callback, err := l.Show(t.Context(), pending(l.RedirectURI()))
		l.shown <- returned{callback, err}
	}()
	<-l.open
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
	body := assert.Value(io.ReadAll(res.Body))(t)
	return res, string(body)
}

func TestLoopback(t *testing.T) {
	l := show(t)
	u, err := url.Parse(l.RedirectURI())
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.Port() == "" || u.Port() == "0" || u.Path != "/callback" || u.RawQuery != "" {
		t.Fatalf("redirect URI %q, %v", l.RedirectURI(), err)
	}
	l.out.await(t, "Server \"notes\" needs you to log in at https://as.example\n", 1)
	l.out.await(t, "\n  https://as.example/authorize?client_id=1&state="+state+"\n", 1)

	want := l.RedirectURI() + "?code=c%2Bd&iss=https%3A%2F%2Fas.example&state=" + state
	res, body := get(t, "GET", want, "")
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "Almost done") || !res.Close {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	} {
		assert.Equal(t, res.Header.Get(name), value, "%s", name)
	}
	if csp := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") {
		t.Errorf("policy %q", csp)
	}
	// Until the login is closed.
	if res, _ := get(t, "GET", want, ""); res.StatusCode != http.StatusGone {
		t.Errorf("second callback: status %d, want 410", res.StatusCode)
	}
	if got := <-l.shown; got.callback != want || got.err != nil {
		t.Errorf("came back at %q, %v, want %q", got.callback, got.err, want)
	}
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
		if test.status == 405 && res.Header.Get("Allow") != "GET" {
			t.Errorf("allowed: %q", res.Header.Get("Allow"))
		}
		if strings.Contains(body+fmt.Sprint(res.Header), "canary") {
			t.Errorf("%s %.60s: echoed: %s", test.method, test.target, body)
		}
	}
	select {
	case got := <-l.shown:
		t.Fatalf("came back at %q, %v", got.callback, got.err)
	default:
	}
	want := l.RedirectURI() + "?error=access_denied&error_description=%3Cb%3Ecanary&state=" + state
	if res, body := get(t, "GET", want, ""); res.StatusCode != 200 || !strings.Contains(body, "Not logged in") || strings.Contains(body, "canary") {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
	if got := <-l.shown; got.callback != want || got.err != nil {
		t.Errorf("came back at %q, %v, want %q", got.callback, got.err, want)
	}
}

// Not even the right answer is one before the login is shown, nor to a login
// without a state.
func TestLoopbackEarly(t *testing.T) {
	p := assert.Value((&auth.Loopback{Out: io.Discard}).Start(t.Context(), nil))(t)
	defer p.Close()
	for _, query := range []string{"?code=1&state=" + state, "?code=1&state="} {
		if res, _ := get(t, "GET", p.RedirectURI()+query, ""); res.StatusCode != 400 {
			t.Errorf("status %d", res.StatusCode)
		}
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
	if count[200] != 1 || count[410] != 19 {
		t.Errorf("statuses %v", count)
	}
	if got := <-l.shown; got.err != nil {
		t.Error(got.err)
	}
}

// The page arrives although the login is closed as soon as its answer is here,
// with connections open that say nothing. Nothing listens any more then.
func TestLoopbackClose(t *testing.T) {
	for range 20 {
		loopback := &auth.Loopback{Out: io.Discard, Open: func(context.Context, string) error { return nil }}
		p := assert.Value(loopback.Start(t.Context(), nil))(t)
		closed := make(chan error, 1)
		go func() {
			_, err := p.Show(t.Context(), pending(p.RedirectURI()))
			closed <- errors.Join(err, p.Close())
		}()
		u, _ := url.Parse(p.RedirectURI())
		silent := assert.Value(net.Dial("tcp", u.Host))(t)
		for status := 0; status != 200; { // not before it is shown
			res, body := get(t, "GET", p.RedirectURI()+"?code=1&state="+state, "")
			if status = res.StatusCode; status == 200 && !strings.Contains(body, "</html>") {
				t.Errorf("page %q", body)
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, err := silent.Read(make([]byte, 1)); err == nil {
			t.Error("a connection is still open")
		}
		_ = silent.Close()
		if c, err := net.Dial("tcp", u.Host); err == nil {
			t.Error("something still listens")
			_ = c.Close()
		}
	}
}

func TestLoopbackEnds(t *testing.T) {
	loopback := &auth.Loopback{Out: io.Discard, Open: func(context.Context, string) error { return nil }}
	p := assert.Value(loopback.Start(t.Context(), nil))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Show(ctx, pending("")); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), state) {
		t.Errorf("error %v", err)
	}
	late := pending("")
	late.Expires = time.Unix(1, 0)
	if _, err := p.Show(t.Context(), late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Show(t.Context(), pending(""))
		ended <- err
	}()
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), `server "notes"`) {
		t.Errorf("error %v", err)
	}
}

func TestLoopbackNoBrowser(t *testing.T) {
	out := &screen{}
	loopback := &auth.Loopback{Out: out, Open: func(context.Context, string) error { return errors.New("none") }}
	p := assert.Value(loopback.Start(t.Context(), nil))(t)
	defer p.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := p.Show(t.Context(), pending(""))
		ended <- err
	}()
	out.await(t, "No browser opened. Open the page yourself.\n", 1)
	get(t, "GET", p.RedirectURI()+"?code=1&state="+state, "")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Neither a browser nor a terminal.
	loopback.Out = broken{}
	if _, err := p.Show(t.Context(), pending("")); err == nil || strings.Contains(err.Error(), state) {
		t.Errorf("error %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestLoopbackDevice(t *testing.T) {
	for complete, want := range map[string]string{"": "https://as.example/device", "https://as.example/device?c=1": "https://as.example/device?c=1"} {
		out, opened := &screen{}, ""
		loopback := &auth.Loopback{Out: out, Open: func(_ context.Context, url string) error { opened = url; return nil }}
		p := assert.Value(loopback.Start(t.Context(), nil))(t)
		login := pending("")
		login.URL, login.Device = "https://as.example/device", &auth.Device{UserCode: "ABCD-EFGH", CompleteURL: complete}
		if callback, err := p.Show(t.Context(), login); callback != "" || err != nil {
			t.Errorf("%q, %v", callback, err)
		}
		assert.Equal(t, opened, want, "opened")
		if !strings.Contains(out.String(), "\n  https://as.example/device\nand type this code there:\n  ABCD-EFGH\n") {
			t.Errorf("shown: %s", out)
		}
		if _, err := p.Show(t.Context(), hostile()); err != nil {
			t.Error(err)
		}
		_ = p.Close()
		checkHarmless(t, out.String())
	}
}

// freePort returns a port of 127.0.0.1 that nobody has, and ::1 neither. It is not one
// of those that a system gives to who asks for any: it stays free.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		_ = l.Close()
		if l, err = net.Listen("tcp", "[::1]:"+port); err == nil {
			_ = l.Close()
		} else if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		return port
	}
	t.Fatal("no port is free")
	return ""
}

func TestLoopbackRegistered(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	free := freePort(t)
	const any = "any"
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
			want := strings.Replace(test.want, any, u.Port(), 1)
			if got != want || u.Port() == "" || u.Port() == "0" {
				t.Errorf("redirect URI %q, want %q", got, test.want)
			}
			separator := "?"
			if u.RawQuery != "" {
				separator = "&"
			}
			if res, body := get(t, "GET", got+separator+"code=1&state="+state, ""); res.StatusCode != 200 {
				t.Errorf("status %d: %s", res.StatusCode, body)
			}
			if back := <-l.shown; back.err != nil {
				t.Error(back.err)
			}
		})
	}
}

func TestLoopbackRedirectURIs(t *testing.T) {
	loopback := &auth.Loopback{RedirectURIs: []string{"https://app.example/", "http://localhost/own"}}
	p := assert.Value(loopback.Start(t.Context(), []string{"http://127.0.0.1:" + freePort(t) + "/registered"}))(t)
	defer p.Close()
	if u, err := url.Parse(p.RedirectURI()); err != nil || u.Hostname() != "localhost" || u.Port() == "" || u.Path != "/own" {
		t.Errorf("redirect URI %q", p.RedirectURI())
	}
}

// Of two addresses of localhost nobody else has one.
func TestLoopbackLocalhost(t *testing.T) {
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6: ", err)
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	l := show(t, "http://localhost:"+port+"/a")
	u, _ := url.Parse(l.RedirectURI())
	if u.Port() == port {
		t.Errorf("redirect URI %q", l.RedirectURI())
	}
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
		if _, err := bufio.NewReader(more).ReadString('\n'); err == nil {
			t.Error("one more connection was served")
		}
	}
	for _, c := range silent {
		_ = c.Close()
	}
	for {
		res, err := http.Get(l.RedirectURI() + "?code=1&state=" + state)
		if err != nil {
			continue // those that were closed may still count
		}
		_ = res.Body.Close()
		break
	}
	if got := <-l.shown; got.err != nil {
		t.Error(got.err)
	}
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
