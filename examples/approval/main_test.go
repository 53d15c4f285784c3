package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// With the flag of the program, which is that of no test, the test program is the program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-once" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// A browser is what a user works with.
type browser struct {
	t      *testing.T
	client *http.Client
	base   string // of the page
	body   string // of the page as it was last seen
}

// open waits for the program's first line and goes where it says.
func open(t *testing.T, out io.Reader) *browser {
	t.Helper()
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	assert.OK(t, err, "%q", line)
	assert.True(t, ok, "%q", line)
	jar := assert.Value(cookiejar.New(nil))(t)
	b := &browser{t: t, client: &http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(b.client.CloseIdleConnections)
	b.base, _, _ = strings.Cut(address, "/login")
	assert.Equal(t, b.get("/"), http.StatusForbidden, "without a login: status")
	assert.Equal(t, b.get("/login?key=wrong"), http.StatusForbidden, "with a wrong key: status")
	assert.Equal(t, b.get(strings.TrimPrefix(address, b.base)), http.StatusOK, "login")
	return b
}

func (b *browser) get(path string) int {
	b.t.Helper()
	req := assert.Value(http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+path, nil))(b.t)
	return b.do(req)
}

func (b *browser) do(req *http.Request) int {
	b.t.Helper()
	status, body, err := b.send(req)
	assert.OK(b.t, err)
	b.body = body
	return status
}

func (b *browser) send(req *http.Request) (int, string, error) {
	res, err := b.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// until follows the page, as its script does, until it has a text.
func (b *browser) until(text string) {
	b.t.Helper()
	lines := regexp.MustCompile(`data-lines="(\d+)"`)
	for {
		assert.Equal(b.t, b.get("/"), http.StatusOK)
		if strings.Contains(b.body, text) {
			return
		}
		m := lines.FindStringSubmatch(b.body)
		if m == nil {
			b.t.Fatalf("no page: %s", b.body)
		}
		b.get("/changed?lines=" + m[1])
	}
}

// form is the form of the one call that waits, filled in.
func (b *browser) form(decision, reason string) url.Values {
	b.t.Helper()
	v := url.Values{"decision": {decision}, "reason": {reason}}
	for _, name := range []string{"token", "id"} {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(b.body)
		if m == nil {
			b.t.Fatalf("the page has no %s:\n%s", name, b.body)
		}
		v.Set(name, m[1])
	}
	return v
}

// post returns a request that sends a form as a browser does.
func (b *browser) post(form url.Values) *http.Request {
	b.t.Helper()
	req := assert.Value(http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+"/answer", strings.NewReader(form.Encode())))(b.t)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", b.base)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return req
}

func TestPage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	files := newFolder()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, in, files, 0, false) }()
	b := open(t, out)
	gone := func(want ...string) {
		t.Helper()
		files.mu.Lock()
		defer files.mu.Unlock()
		assert.Equal(t, fmt.Sprintf("%q", files.deleted), fmt.Sprintf("%q", want))
	}

	// The read-only tool ran by itself. The other is shown as it is.
	b.until(`value="approve"`)
	for _, want := range []string{
		"May the agent run files__delete?", "Delete a file: Delete one file for good.", "the server files, called delete there. You are asked because it may destroy something.",
		"may destroy something, and does no more when it runs twice", "<pre>{&#34;name&#34;:&#34;&lt;b&gt;draft&lt;/b&gt;.tmp&#34;}</pre>",
		`class="result"`, "report.pdf",
	} {
		assert.Contains(t, b.body, want)
	}
	assert.Lacks(t, b.body, "<b>")
	assert.False(t, regexp.MustCompile(`(?i)src=|href=|@import|url\(`).MatchString(b.body))

	// No other user approves it.
	form := b.form("approve", "")
	for name, spoil := range map[string]func(*http.Request){
		"foreign origin": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://evil.example") },
		"foreign site":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"other port":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"foreign host":   func(r *http.Request) { r.Host = "evil.example" },
		"no token":       func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("")); r.ContentLength = 0 },
		"wrong token": func(r *http.Request) {
			wrong := b.form("approve", "")
			wrong.Set("token", "wrong")
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(wrong.Encode())), int64(len(wrong.Encode()))
		},
		"by address": func(r *http.Request) {
			r.URL.RawQuery, r.Body, r.ContentLength = form.Encode(), io.NopCloser(strings.NewReader("")), 0
		},
	} {
		req := b.post(form)
		spoil(req)
		status, body, err := b.send(req)
		assert.OK(t, err, "%s", name)
		assert.Equal(t, status/100, 4, "%s: %s: the first digit of the status", name, body)
	}
	stranger := &browser{t: t, client: &http.Client{Transport: b.client.Transport}}
	status, _, err := stranger.send(b.post(form))
	assert.OK(t, err, "without a cookie")
	assert.Equal(t, status, http.StatusForbidden, "without a cookie")
	unknown := b.form("grant", "")
	status, _, err = b.send(b.post(unknown))
	assert.OK(t, err, "an unknown decision")
	assert.Equal(t, status, http.StatusBadRequest, "an unknown decision")
	gone()

	// A double click, and a click by two hands, is one approval.
	var clicks sync.WaitGroup
	for range 4 {
		clicks.Go(func() {
			status, body, err := b.send(b.post(form))
			assert.Equal(t, err, nil)
			assert.Equal(t, status, http.StatusOK, "%s: status", body)
		})
	}
	clicks.Wait()
	b.until("&lt;b&gt;draft&lt;/b&gt;.tmp is gone")
	gone("<b>draft</b>.tmp")

	b.until("report.pdf&#34;}</pre>")
	assert.Equal(t, b.do(b.post(b.form("refuse", "I <need> it"))), http.StatusOK, "refuse: status")
	b.until("the user refused it: I &lt;need&gt; it")

	b.until("cache.tmp&#34;}</pre>")
	assert.Equal(t, b.do(b.post(b.form("session", ""))), http.StatusOK, "session: status")
	b.until("That is all.")
	assert.Lacks(t, b.body, "<form", "something waits")
	gone("<b>draft</b>.tmp", "cache.tmp", "session.tmp")

	// A page that waits for news does not hold up the end.
	polled := make(chan struct{})
	last := strings.Count(b.body, `<p class="`)
	go func() {
		defer close(polled)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/changed?lines=%d", b.base, last), nil)
		_, _, _ = b.send(req)
	}()
	cancel()
	assert.OK(t, <-ended)
	<-polled
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\":\"ü\"}\n":       "{\"a\":\"ü\"}\n",
		"a\u202eb\x00\r\u200bc": `a\u202eb\u0000\u000d\u200bc`,
		"\U000e0041":            `\udb40\udc41`,
	} {
		assert.Equal(t, visible(in), want, "%q is shown as", in)
	}
	long := strings.Repeat("x", 1<<20)
	assert.Equal(t, visible([]byte(long)), long)
}

// TestProgram runs the program as a reader does.
func TestProgram(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), assert.Value(os.Executable())(t), "-once")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	b := open(t, out)
	b.until(`value="session"`)
	// The page may be gone before its answer is here: the agent needs nothing more.
	_, _, _ = b.send(b.post(b.form("session", "")))
	assert.OK(t, cmd.Wait(), "%s", &stderr)
}
