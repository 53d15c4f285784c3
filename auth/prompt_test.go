package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A screen is what the user sees.
type screen struct {
	mu      sync.Mutex
	text    strings.Builder
	changed sync.Cond
}

func newScreen() *screen {
	s := &screen{}
	s.changed.L = &s.mu
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until a text was shown n times.
func (s *screen) await(text string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for strings.Count(s.text.String(), text) < n {
		s.changed.Wait()
	}
}

// returned is what Show returns.
type returned struct {
	callback string
	err      error
}

const state = "the-state-0123456789"

// pending is a login by authorization code.
func pending(redirect string) *auth.Pending {
	return &auth.Pending{
		Server: "notes", URL: "https://as.example/authorize?client_id=1&state=" + state, RedirectURI: redirect, State: state,
		Authority: auth.Authority{Issuer: "https://as.example"},
	}
}

// hostile has control characters wherever others have written.
func hostile() *auth.Pending {
	p := pending("")
	p.Server = "notes\x1b[2J\nServer \"bank\""
	p.URL += "\x1b]0;x\a\u202e\nbank"
	p.Authority.Issuer += "\x9b1m\u200b\nbank"
	p.Device = &auth.Device{UserCode: "AB\x1b[31m\r\nbank" + strings.Repeat("x", 10_000)}
	return p
}

// checkHarmless looks for what moves the cursor or passes for the program's own
// lines.
func checkHarmless(t *testing.T, shown string) {
	t.Helper()
	for line := range strings.Lines(shown) {
		for _, r := range strings.TrimSuffix(line, "\n") {
			assert.True(t, ' ' <= r && r < 0x7f, "%U in %q is harmless", r, line)
		}
		assert.False(t, strings.HasPrefix(line, "bank") || strings.HasPrefix(line, `Server "bank"`), "line %q", line)
	}
	assert.True(t, len(shown) <= 5000)
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }

// showing shows a login meanwhile, and closes it then.
func showing(ctx context.Context, x auth.PromptSession, p *auth.Pending) <-chan returned {
	shown := make(chan returned, 1)
	go func() {
		callback, err := x.Show(ctx, p)
		shown <- returned{callback, errors.Join(err, x.Close())}
	}()
	return shown
}

// wantShown checks where a login has come back.
func wantShown(t *testing.T, shown <-chan returned, callback string) {
	t.Helper()
	got := <-shown
	assert.OK(t, got.err)
	assert.Contains(t, got.callback, callback, "came back")
}

// paste shows a login to a user who types lines and then goes away.
func paste(t *testing.T, p *auth.Pending, typed string, registered ...string) (returned, string) {
	t.Helper()
	out := newScreen()
	x := assert.Value((&auth.PasteURL{In: strings.NewReader(typed), Out: out}).Start(t.Context(), registered))(t)
	defer x.Close()
	callback, err := x.Show(t.Context(), p)
	return returned{callback, err}, out.String()
}

func TestPasteURL(t *testing.T) {
	const base = "http://127.0.0.1:33418/callback"
	const query = "code=c%2Bd&state=" + state + "&iss=https%3A%2F%2Fas.example"
	const whole = base + "?" + query
	const denied = "error=access_denied&state=" + state
	for typed, want := range map[string]string{
		whole: whole, whole + "\n": whole, "  \t" + whole + " \r\n": whole, "\u00a0" + whole + "\u200b\n": whole,
		`"` + whole + "\"\n": whole, "'" + whole + "'\n": whole, "<" + whole + ">\n": whole,
		"\u201c" + whole + "\u201d\n": whole, "\x1b[200~" + whole + "\x1b[201~\n": whole, whole + "#_=_\n": whole,
		"?" + query + "\n": whole, query + "\n": whole, "/callback?" + query + "\n": whole,
		"http://localhost:1/other?" + query: whole, base + "?" + denied: base + "?" + denied,
		whole[:50] + "\n" + whole[50:]: whole, whole[:20] + "\n " + whole[20:] + " ": whole,
		whole[:20] + "\n" + whole[20:40] + "\n" + whole[40:]: whole,
		whole[:len(whole)-5] + "\n" + whole[len(whole)-5:]:   whole, "no\n" + whole: whole,
		whole[:30] + "\n\n" + whole[:30] + "\n\n":                                "",
		whole[:30] + "\n\n" + whole:                                              whole,
		strings.Repeat("x", 70_000) + "\n" + whole:                               whole,
		base + "?code=1&state=other\n" + whole:                                   whole,
		"https://as.example/authorize?client_id=1&state=" + state + "\n" + whole: whole,
		"c+d\n" + whole: whole, base + "?code=1&state=" + state + "&state=" + state + "\n": "",
		base + "?code=%zz&state=" + state + "\n": "", "": "", "\n" + whole: "", " \t\n" + whole: "",
	} {
		got, shown := paste(t, pending(base), typed)
		assert.Equal(t, got.callback, want, "%.200q", typed)
		assert.Equal(t, errors.Is(got.err, auth.ErrDeclined), want == "", "%.200q: declined", typed)
		assert.Equal(t, strings.Count(shown, state), 1, "%.200q: shown", typed)
	}
}

func TestPasteURLShows(t *testing.T) {
	_, shown := paste(t, pending("http://127.0.0.1:33418/callback"), "code=1\n")
	const want = `
Server "notes" needs you to log in at https://as.example
Open this page in a browser, on any machine:
  https://as.example/authorize?client_id=1&state=` + state + `
In the end the browser goes to an address that begins with
  http://127.0.0.1:33418/callback
and probably shows that it cannot be reached: that is fine. Copy the whole address
from the browser's address bar and paste it here. An empty line: do not log in.
> That is not the whole address, or not that of this login: it must have "state=" and "code=" in it.
Paste the whole address, or the rest of it: `
	assert.Equal(t, shown, want, "shown")

	p := hostile()
	p.Device = nil
	_, shown = paste(t, p, "")
	checkHarmless(t, shown)
	got, shown := paste(t, hostile(), "")
	checkHarmless(t, shown)
	assert.Equal(t, got.callback, "", "got")
	assert.OK(t, got.err)
	assert.Contains(t, shown, "type this code there:\n  AB<U+001B>[31m")
}

func TestPasteURLRegistered(t *testing.T) {
	for _, test := range []struct {
		want       string
		registered []string
	}{
		{"http://127.0.0.1:33418/callback", nil},
		{"http://127.0.0.1:33418/callback", []string{"https://app.example/x", "http://app.example/"}},
		{"http://localhost:1/x?y=1", []string{"https://app.example/x", "http://localhost:1/x?y=1", "http://127.0.0.1:2/"}},
	} {
		x := assert.Value((&auth.PasteURL{}).Start(t.Context(), test.registered))(t)
		assert.Equal(t, x.RedirectURI(), test.want, "%q", test.registered)
		assert.OK(t, x.Close())
	}
	got, _ := paste(t, pending(""), "?y=1&code=1&state="+state, "http://localhost:1/x?y=1")
	assert.Equal(t, got.callback, "http://localhost:1/x?y=1&code=1&state="+state, "came back at")
}

// A login ends with its context and leaves no reader; the next one gets
// what is typed then.
func TestPasteURLEnds(t *testing.T) {
	in, keys, err := os.Pipe()
	assert.OK(t, err)
	defer in.Close()
	defer keys.Close()
	out := newScreen()
	prompt := &auth.PasteURL{In: in, Out: out}
	for i := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		first := showing(ctx, assert.Value(prompt.Start(ctx, nil))(t), pending(""))
		out.await("paste it here", 2*i+1)
		cancel()
		got := <-first
		assert.Is(t, got.err, context.Canceled)
		assert.Lacks(t, got.err.Error(), state)

		second := showing(t.Context(), assert.Value(prompt.Start(t.Context(), nil))(t), pending(""))
		out.await("paste it here", 2*i+2)
		assert.Value(fmt.Fprintf(keys, "code=%d&state=%s\n", i, state))(t)
		wantShown(t, second, fmt.Sprintf("code=%d&", i))
	}
	late := pending("")
	late.Expires = time.Unix(1, 0)
	x, _ := prompt.Start(t.Context(), nil)
	assert.Is(t, errOf(x.Show(t.Context(), late)), context.DeadlineExceeded)
	assert.OK(t, x.Close())
}

// Two logins are shown one after the other, and one that waits for its turn ends
// with its context.
func TestPasteURLTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		out := newScreen()
		prompt := &auth.PasteURL{In: in, Out: out}
		show := func(ctx context.Context) <-chan returned {
			defer synctest.Wait()
			return showing(ctx, assert.Value(prompt.Start(ctx, nil))(t), pending(""))
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, impatient, second := show(t.Context()), show(ctx), show(t.Context())
		cancel()
		assert.Is(t, (<-impatient).err, context.Canceled)
		for i, shown := range []<-chan returned{first, second} {
			synctest.Wait()
			assert.Equal(t, strings.Count(out.String(), "paste it here"), i+1, "logins are shown")
			_, _ = fmt.Fprintf(keys, "code=%d&state=%s\n", i, state)
			wantShown(t, shown, fmt.Sprintf("code=%d&", i))
		}
	})
}

// What reads on after its login has ended, as its input cannot be stopped, does
// not answer the next one.
func TestPasteURLStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		out := newScreen()
		prompt := &auth.PasteURL{In: in, Out: out}
		ctx, cancel := context.WithCancel(t.Context())
		first := showing(ctx, assert.Value(prompt.Start(ctx, nil))(t), pending(""))
		synctest.Wait()
		cancel()
		assert.Is(t, (<-first).err, context.Canceled)
		second := showing(t.Context(), assert.Value(prompt.Start(t.Context(), nil))(t), pending(""))
		synctest.Wait()
		_, _ = io.WriteString(keys, "code=old&state="+state+"\n")
		synctest.Wait()
		assert.Contains(t, out.String(), "may have been meant for the question before", "shown")
		_, _ = io.WriteString(keys, "code=new&state="+state+"\n")
		wantShown(t, second, "code=new")
	})
}

func TestPasteURLBrokenScreen(t *testing.T) {
	x, _ := (&auth.PasteURL{In: strings.NewReader(""), Out: broken{}}).Start(t.Context(), nil)
	defer x.Close()
	err := errOf(x.Show(t.Context(), pending("")))
	assert.Fails(t, err)
	assert.False(t, errors.Is(err, auth.ErrDeclined), "declined")
	assert.Lacks(t, err.Error(), state)
}

func ExamplePasteURL() {
	ctx := context.Background()
	// At a terminal In is os.Stdin and Out is os.Stderr: the defaults.
	prompt := &auth.PasteURL{In: strings.NewReader("http://127.0.0.1:33418/callback?code=1&state=s\n"), Out: io.Discard}
	login, err := prompt.Start(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer login.Close()
	callback, err := login.Show(ctx, &auth.Pending{
		Server: "notes", State: "s", URL: "https://as.example/authorize?state=s", RedirectURI: login.RedirectURI(),
	})
	fmt.Println(callback, err)
	// Output:
	// http://127.0.0.1:33418/callback?code=1&state=s <nil>
}
