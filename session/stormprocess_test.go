package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

const (
	stormDir   = "SESSION_STORM_DIR"   // makes the test program a process of a storm
	stormURL   = "SESSION_STORM_URL"   // the resource that it calls
	stormCalls = "SESSION_STORM_CALLS" // how many calls it makes at once
	// stormPatience bounds one round.
	stormPatience = 2 * time.Minute
	stormMoment   = time.Millisecond
	stormReturn   = "http://127.0.0.1:1/callback"
)

func stormKey() session.Key { return session.Key{User: "alice", Server: "storm"} }

// stormManager opens a manager as every process of a storm does.
func stormManager(dir, url string) (*session.Manager, *seal.Store, error) {
	store, err := filestore.Open(context.Background(), dir, nil)
	if err != nil {
		return nil, nil, err
	}
	config := &auth.Config{Server: "storm", URL: url}
	m, err := session.NewManager(store, &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return config, nil },
		RedirectURL: stormReturn,
	})
	if err != nil {
		_ = store.Close()
		return nil, nil, err
	}
	return m, store, nil
}

// A stormReport is what became of one round of calls.
type stormReport struct {
	OK     int            // calls that were let in
	Ended  map[string]int // calls that need a login, by the reason why
	Failed map[string]int // others
}

func (r *stormReport) add(err error) {
	var required *auth.LoginRequiredError
	switch {
	case err == nil:
		r.OK++
	case errors.As(err, &required):
		r.Ended[required.Reason]++
	default:
		r.Failed[err.Error()]++
	}
}

// runStormProcess makes calls for each line of its input, all at once, and writes
// a line about them.
func runStormProcess(dir string) {
	calls, err := strconv.Atoi(os.Getenv(stormCalls))
	url := os.Getenv(stormURL)
	m, store, openErr := stormManager(dir, url)
	if err = errors.Join(err, openErr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: calls}}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		report := stormReport{Ended: map[string]int{}, Failed: map[string]int{}}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				err := stormCall(client, m.Handler(stormKey()), url)
				mu.Lock()
				defer mu.Unlock()
				report.add(err)
			})
		}
		wg.Wait()
		if err := out.Encode(report); err != nil {
			os.Exit(1)
		}
	}
	if err := errors.Join(m.Close(), store.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stormCall makes one call as a transport does, and again when a caller is told to.
func stormCall(client *http.Client, h *session.Handler, url string) error {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
	ctx, stop := context.WithTimeout(context.Background(), stormPatience)
	defer stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return err
		}
		if err := h.Authenticate(ctx, req.Header, req.Method, url, []byte(body)); err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		h.Observe(resp)
		if resp.StatusCode == http.StatusOK {
			_, err := io.Copy(io.Discard, resp.Body)
			return errors.Join(err, resp.Body.Close())
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		err = h.Authorize(ctx, req, resp)
		var later *session.RefreshError
		if errors.As(err, &later) {
			if err := stormPause(ctx, time.Until(later.RetryAt)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
	}
}

func stormPause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A stormProcess is a process that makes calls when it is told to.
type stormProcess struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	reports chan stormReport // closed when it has ended
}

func startStormProcess(t testing.TB, dir, url string, calls int) *stormProcess {
	t.Helper()
	p := &stormProcess{cmd: exec.Command(os.Args[0]), reports: make(chan stormReport, 1)}
	p.cmd.Env = append(os.Environ(), stormDir+"="+dir, stormURL+"="+url, stormCalls+"="+strconv.Itoa(calls), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = os.Stderr
	stdin := assert.Value(p.cmd.StdinPipe())(t)
	stdout := assert.Value(p.cmd.StdoutPipe())(t)
	p.stdin = stdin
	assert.OK(t, p.cmd.Start())
	go func() {
		defer close(p.reports)
		for in := json.NewDecoder(stdout); ; {
			var r stormReport
			if in.Decode(&r) != nil {
				return
			}
			p.reports <- r
		}
	}()
	t.Cleanup(func() { _ = p.kill() })
	return p
}

// goes begins a round of calls.
func (p *stormProcess) goes() error {
	_, err := io.WriteString(p.stdin, "go\n")
	return err
}

// report returns what became of the round; ok is false if the process ended.
func (p *stormProcess) report(t testing.TB) (r stormReport, ok bool) {
	t.Helper()
	late := time.NewTimer(2 * stormPatience)
	defer late.Stop()
	select {
	case r, ok = <-p.reports:
	case <-late.C:
		t.Fatal("a process does not report")
	}
	return r, ok
}

// end lets the process end, and returns what it has to complain of.
func (p *stormProcess) end() error {
	_ = p.stdin.Close()
	for range p.reports {
	}
	return p.cmd.Wait()
}

// kill ends the process as nothing can prevent it, at once.
func (p *stormProcess) kill() error {
	_ = p.cmd.Process.Kill()
	return p.end()
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
