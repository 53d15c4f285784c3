//go:build unix

// Package chromium drives a browser without a window, for tests: it needs chromium on
// the PATH. The package chromium of Debian is enough, with --no-install-recommends.
package chromium

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A Browser is a process of chromium, driven by the DevTools protocol over a pipe: messages of
// JSON, each with a zero byte behind it.
type Browser struct {
	cmd  *exec.Cmd
	log  *bytes.Buffer
	to   *os.File
	done chan struct{} // closed when nothing more is read from it

	mu      sync.Mutex // guards the following
	last    int
	waiting map[int]chan<- message
	events  map[string]func(method string, params json.RawMessage) // by session
}

// A message is a request, the answer to one, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser, with a profile of its own. It ends with the test.
func Start(t *testing.T) *Browser {
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
	assert.OK(t, err)
	in, to, err := os.Pipe()
	assert.OK(t, err)
	from, out, err := os.Pipe()
	assert.OK(t, err)
	b := &Browser{
		log: new(bytes.Buffer), to: to, done: make(chan struct{}),
		waiting: make(map[int]chan<- message), events: make(map[string]func(string, json.RawMessage)),
	}
	b.cmd = exec.Command(path,
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir="+home,
		"--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--disable-extensions",
		"--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-breakpad", "--disable-crash-reporter", "--no-proxy-server", "--hide-scrollbars",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", // it speaks to this machine only
	)
	b.cmd.Env = append(os.Environ(), "HOME="+home)
	b.cmd.ExtraFiles = []*os.File{in, out} // 3 and 4
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = b.cmd.Start()
	_ = in.Close()
	_ = out.Close()
	assert.OK(t, err)
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

// read hands the answers to those who wait for them, and the events to those who listen, until
// the browser is gone.
func (b *Browser) read(from *os.File) {
	defer close(b.done)
	in := bufio.NewReader(from)
	for {
		data, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			message
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		answer, listener := b.waiting[m.ID], b.events[m.Session]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case answer != nil:
			answer <- m.message
		case m.Method != "" && listener != nil:
			listener(m.Method, m.Params)
		}
	}
}

// call calls a method of the protocol, of a page if session is not empty.
func (b *Browser) call(t *testing.T, session, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = answer
	b.mu.Unlock()
	data, err := json.Marshal(message{ID: id, Session: session, Method: method, Params: params})
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
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
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer", method)
	}
}

// patience bounds a step. Nothing measures against it; it only turns a hang into a failure.
const patience = 2 * time.Minute

// Open opens a page in a new tab, which has cookies of its own: each is the browser
// of another user. If url is empty the tab is blank.
func (b *Browser) Open(t *testing.T, url string) *Tab {
	t.Helper()
	url = cmp.Or(url, "about:blank")
	var context struct{ BrowserContextID string }
	assert.OK(t, b.call(t, "", "Target.createBrowserContext", map[string]any{}, &context))
	var target struct{ TargetID string }
	assert.OK(t, b.call(t, "", "Target.createTarget", map[string]any{"url": url, "browserContextId": context.BrowserContextID}, &target))
	var attached struct{ SessionID string }
	assert.OK(t, b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	return &Tab{t, b, attached.SessionID, context.BrowserContextID}
}
