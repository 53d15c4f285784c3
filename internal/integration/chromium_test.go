//go:build integration && unix

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// A chromium is a browser without a window, driven by the DevTools protocol over
// a pipe: messages of JSON, each with a zero byte behind it.
type chromium struct {
	cmd  *exec.Cmd
	log  *bytes.Buffer
	to   *os.File
	done chan struct{} // closed when nothing more is read from it

	mu      sync.Mutex // guards the following
	last    int
	waiting map[int]chan<- devtools
}

// A devtools message is a request or the answer to one.
type devtools struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// browse starts the browser, with a profile of its own. It ends with the test.
func browse(t *testing.T) *chromium {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("this test needs chromium: apt-get install --no-install-recommends chromium")
	}
	home, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &chromium{log: new(bytes.Buffer), to: to, done: make(chan struct{}), waiting: make(map[int]chan<- devtools)}
	b.cmd = exec.Command(path,
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir="+home,
		"--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--disable-extensions",
		"--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-breakpad", "--disable-crash-reporter", "--no-proxy-server",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", // it speaks to this machine only
	)
	b.cmd.Env = append(os.Environ(), "HOME="+home)
	b.cmd.ExtraFiles = []*os.File{in, out} // 3 and 4
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = b.cmd.Start()
	_ = in.Close()
	_ = out.Close()
	if err != nil {
		t.Fatal(err)
	}
	go b.read(from)
	t.Cleanup(func() {
		_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
		_ = b.cmd.Wait()
		<-b.done
		_ = to.Close()
		_ = from.Close()
		_ = os.RemoveAll(home)
		if t.Failed() {
			t.Logf("log of the browser:\n%s", b.log)
		}
	})
	return b
}

// read hands the answers to those who wait for them, until the browser is gone.
func (b *chromium) read(from *os.File) {
	defer close(b.done)
	in := bufio.NewReader(from)
	for {
		message, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m devtools
		if json.Unmarshal(bytes.TrimSuffix(message, []byte{0}), &m) != nil || m.ID == 0 {
			continue // events are not of interest
		}
		b.mu.Lock()
		answer := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

// call calls a method of the protocol, of a page if session is not empty.
func (b *chromium) call(t *testing.T, session, method string, params, result any) error {
	answer := make(chan devtools, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = answer
	b.mu.Unlock()
	message, err := json.Marshal(devtools{ID: id, Session: session, Method: method, Params: params})
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(message, 0)); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.done:
		return errors.New("the browser is gone")
	case <-ctxFor(t).Done():
		return fmt.Errorf("%s: no answer", method)
	}
}

// A tab shows one page after the other.
type tab struct {
	*testing.T
	browser *chromium
	session string
}

// open opens a page in a new tab, which has cookies of its own: each is the browser
// of another user.
func (b *chromium) open(t *testing.T, url string) *tab {
	t.Helper()
	var context struct{ BrowserContextID string }
	if err := b.call(t, "", "Target.createBrowserContext", map[string]any{}, &context); err != nil {
		t.Fatal(err)
	}
	var target struct{ TargetID string }
	if err := b.call(t, "", "Target.createTarget", map[string]any{"url": url, "browserContextId": context.BrowserContextID}, &target); err != nil {
		t.Fatal(err)
	}
	var attached struct{ SessionID string }
	if err := b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		t.Fatal(err)
	}
	return &tab{t, b, attached.SessionID}
}

// eval evaluates an expression in the page and decodes its value.
func (p *tab) eval(expression string, value any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	err := p.browser.call(p.T, p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &r)
	switch {
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return errors.New(r.ExceptionDetails.Text)
	case value == nil || r.Result.Value == nil:
		return nil
	}
	return json.Unmarshal(r.Result.Value, value)
}

// await waits until the page has an element. A page that is just being left
// cannot answer.
func (p *tab) await(selector string) {
	p.Helper()
	eventually(p.T, "an element "+selector, func() bool {
		var found bool
		return p.eval("document.readyState != 'loading' && !!document.querySelector("+strconv.Quote(selector)+")", &found) == nil && found
	})
}

// fill types a text into a field, as the keyboard does.
func (p *tab) fill(selector, text string) {
	p.Helper()
	p.await(selector)
	if err := p.eval("document.querySelector("+strconv.Quote(selector)+").focus()", nil); err != nil {
		p.Fatal(err)
	}
	if err := p.browser.call(p.T, p.session, "Input.insertText", map[string]any{"text": text}, nil); err != nil {
		p.Fatal(err)
	}
}

// click clicks on an element.
func (p *tab) click(selector string) {
	p.Helper()
	p.await(selector)
	if err := p.eval("document.querySelector("+strconv.Quote(selector)+").click()", nil); err != nil {
		p.Fatal(err)
	}
}

// visit goes to another page.
func (p *tab) visit(url string) {
	p.Helper()
	if err := p.browser.call(p.T, p.session, "Page.navigate", map[string]any{"url": url}, nil); err != nil {
		p.Fatal(err)
	}
}

// awaitTitle waits for a page with a title.
func (p *tab) awaitTitle(title string) {
	p.Helper()
	eventually(p.T, "a page with the title "+title, func() bool {
		var got string
		return p.eval("document.readyState == 'complete' ? document.title : ''", &got) == nil && got == title
	})
}

// text returns what the page shows.
func (p *tab) text() string {
	p.Helper()
	var text string
	if err := p.eval("document.body.innerText", &text); err != nil {
		p.Fatal(err)
	}
	return text
}
