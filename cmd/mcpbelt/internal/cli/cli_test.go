package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clipperhouse/displaywidth"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEnv returns an environment with a terminal of so many columns, or none.
func newEnv(width int, variables ...string) (env *Env, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	set := map[string]string{}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		set[name] = value
	}
	return &Env{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		OutTerminal: width > 0, ErrTerminal: width > 0, Width: width,
		Lookup: func(name string) (string, bool) { value, ok := set[name]; return value, ok },
		Now:    time.Now,
	}, stdout, stderr
}

func TestTableFits(t *testing.T) {
	table := &Table{Headings: []string{"NAME", "STATUS", "WHERE"}}
	table.Add("notes", "ready", "a place with a rather long name, which is cut")
	table.Add("a-server-with-a-long-name", "configured", "日本語の説明がここにあります")
	for width := 1; width <= 120; width++ {
		env, stdout, _ := newEnv(width, "NO_COLOR=1")
		NewOut(env).Table(table)
		for line := range strings.Lines(stdout.String()) {
			// Narrower than a label and a word nothing fits.
			assert.False(t, displaywidth.String(strings.TrimSuffix(line, "\n")) > max(width, 22), "width %d: the line %q is wider", width, line)
		}
	}
}

func TestTableWithoutTerminal(t *testing.T) {
	env, stdout, _ := newEnv(0)
	table := &Table{Headings: []string{"NAME", "WHERE"}}
	table.Rows = [][]Cell{{{Text: "notes", Style: Bad}, {Text: strings.Repeat("x", 300)}}}
	NewOut(env).Table(table)
	assert.Equal(t, stdout.String(), "NAME   WHERE\nnotes  "+strings.Repeat("x", 300)+"\n")
}

func TestColors(t *testing.T) {
	for _, test := range []struct {
		width    int
		variable string
		want     bool
	}{
		{80, "TERM=xterm", true},
		{80, "NO_COLOR=1", false},
		{80, "TERM=dumb", false},
		{0, "TERM=xterm", false},
	} {
		env, stdout, _ := newEnv(test.width, test.variable)
		NewOut(env).Style(Bad, "text")
		assert.Equal(t, strings.Contains(stdout.String(), "\x1b"), test.want, "%d columns, %s: %q has colours", test.width, test.variable, stdout)
	}
}

// FuzzOutput: no control character of a text reaches the terminal, and JSON is the same
// value as before.
func FuzzOutput(f *testing.F) {
	f.Add("\x1b[2J\u202e\u009b\x7f\r\b plain")
	f.Add("\xff\xfe \U000e0041 ä日")
	f.Fuzz(func(t *testing.T, text string) {
		env, stdout, stderr := newEnv(60, "NO_COLOR=1")
		out := NewOut(env)
		out.Printf("%s\n", text)
		out.Style(Bad, text)
		out.Table(&Table{Headings: []string{"A", "B"}, Rows: [][]Cell{{{Text: text}, {Text: text}}}})
		(&Error{Exit: Failed, Message: text, Cure: text}).Print(stderr, false)
		(&Error{Exit: Failed, Message: text, Cure: text}).Print(stderr, true)
		assert.OK(t, out.JSONLine(map[string]string{"text": text}))
		assert.Value(out.Confirm(t.Context(), text))(t)
		from := stdout.Len()
		assert.OK(t, out.JSON(map[string]string{"text": text}))
		var back, want map[string]string
		data, _ := json.Marshal(map[string]string{"text": text})
		assert.OK(t, errors.Join(json.Unmarshal(stdout.Bytes()[from:], &back), json.Unmarshal(data, &want)))
		assert.Equal(t, back["text"], want["text"], "back")
		for _, r := range stdout.String() + stderr.String() {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e {
				t.Errorf("%q reached the terminal as %U", text, r)
			}
		}
	})
}

func TestExplain(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(&SignalError{Signal: syscall.SIGINT})
	for _, test := range []struct {
		name string
		ctx  context.Context
		err  error
		want Exit
	}{
		{"of its own", t.Context(), &Error{Exit: NotFound}, NotFound},
		{"another", t.Context(), errors.New("x"), Failed},
		{"a closed pipe", t.Context(), syscall.EPIPE, PipeClosed},
		{"interrupted", interrupted, &Error{Exit: NotSent}, Interrupted},
	} {
		assert.Equal(t, Explain(test.ctx, test.err).Exit, test.want, "%s", test.name)
	}
}

func TestExitsDiffer(t *testing.T) {
	codes := map[string]Exit{}
	last := Exit(-1)
	for _, i := range Exits() {
		assert.False(t, i.Exit <= last, "got %d behind %d, want growing numbers", i.Exit, last)
		_, ok := codes[i.Code]
		assert.False(t, ok, "the code %q is there twice", i.Code)
		codes[i.Code], last = i.Exit, i.Exit
	}
}

func TestSpinner(t *testing.T) {
	for _, test := range []struct {
		name       string
		width      int
		wait       time.Duration
		json, want bool
	}{
		{"slow", 40, 2 * time.Second, false, true},
		{"quick", 40, 900 * time.Millisecond, false, false},
		{"no terminal", 0, 2 * time.Second, false, false},
		{"JSON", 40, 2 * time.Second, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env, _, stderr := newEnv(test.width)
				out := NewOut(env)
				out.AsJSON = test.json
				s := out.Spin("asking \x1b")
				time.Sleep(test.wait)
				s.Say("still")
				s.End()
				s.End()
				got := stderr.String()
				assert.Equal(t, strings.Contains(got, "asking <U+001B>"), test.want, "%q has a spinner", got)
				if got != "" && !strings.HasSuffix(got, "\r\x1b[K") {
					t.Errorf("got %q, want that it ends with an empty line", got)
				}
			})
		})
	}
}

func TestSplitWords(t *testing.T) {
	for _, test := range []struct {
		text string
		want string // words with | between them; empty: an error
	}{
		{"python -m my_mcp_server", "python|-m|my_mcp_server"},
		{`a "b c" d\ e 'f "g'`, `a|b c|d e|f "g`},
		{`a "" ''`, "a||"},
		{"  a\t\nb ", "a|b"},
		{`"a\"b"`, `a"b`},
		{`'a\b'`, `a\b`},
		{`a$HOME`, `a$HOME`},
		{`"a`, ""},
		{`a\`, ""},
		{" ", ""},
	} {
		words, err := SplitWords(test.text)
		assert.Equal(t, [...]any{strings.Join(words, "|"), err != nil}, [...]any{test.want, (test.want == "")}, "%q", test.text)
	}
}
