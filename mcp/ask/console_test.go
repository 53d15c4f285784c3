package ask_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
)

const elicit = "elicitation/create"

func TestConsoleForm(t *testing.T) {
	u := newUser(t)
	answer := granted(t, &mcp.ClientOptions{Elicit: u.console.Elicit}, elicit, formParams("Who are you?", `{
		"name":{"type":"string","title":"Your name","description":"As in your passport","minLength":2},
		"age":{"type":"integer","minimum":18,"maximum":130},
		"color":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#00f","title":"Blue"}],"default":"#f00"},
		"days":{"type":"array","items":{"enum":["mo","tu","we"]},"minItems":1},
		"news":{"type":"boolean","default":true},
		"city":{"type":"string","default":"Rome"}}`, `["name","age","days"]`))
	u.await(t, `Server "notes" asks you:`)
	u.await(t, "| Who are you?")
	u.await(t, "1. Your name (required, at least 2 characters)")
	u.after(t, "| As in your passport\n> ", "")
	u.after(t, "This field is needed.\n> ", "/skip")
	u.after(t, "This field is needed.\n> ", "A")
	u.after(t, "Your answer is shorter than 2 characters.\n> ", "Ann")
	u.after(t, "2. age (required, a whole number, at least 18, at most 130)\n> ", "old")
	u.after(t, "Your answer is not of type integer.\n> ", "17")
	u.after(t, "Your answer is less than 18.\n> ", "18")
	u.after(t, "1) Red [#f00]\n  2) Blue [#00f]\nDefault: Red [#f00]\n> ", "2")
	u.after(t, "4. days", "mo, 3")
	u.after(t, "Default: yes\n> ", "")
	u.after(t, "Default: Rome\n> ", "/skip")
	const review = "\n1. Your name: Ann\n2. age: 18\n3. color: Blue [#00f]\n4. days: mo, we\n5. news: yes (default)\n6. city: (left out)\n"
	u.after(t, review+`Send this to "notes"? [s]end, [e]dit, [d]ecline, [c]ancel: `, "")
	u.after(t, "[c]ancel: ", "e")
	u.after(t, "Which field, 1 to 6? ", "7")
	u.after(t, "[c]ancel: ", "edit")
	u.after(t, "Which field, 1 to 6? ", "1")
	u.after(t, "Now: Ann\n> ", "Anna")
	u.after(t, "1. Your name: Anna\n", "send")
	want := `{"action":"accept","content":{"age":18,"color":"#00f","days":["mo","we"],"name":"Anna","news":true}}`
	assert.Equal(t, <-answer, want, "the server")
}

func TestConsoleWarnsOfSecrets(t *testing.T) {
	u := newUser(t)
	answer := granted(t, &mcp.ClientOptions{Elicit: u.console.Elicit}, elicit, formParams("Log in.", `{"name":{"type":"string"},"password":{"type":"string"}}`, `[]`))
	u.await(t, "  Warning: Field 2 asks for what looks like a secret")
	u.after(t, "> ", "/decline")
	assert.Equal(t, <-answer, `{"action":"decline"}`, "the server")
}

func TestConsoleLeaves(t *testing.T) {
	one := formParams("?", `{"a":{"type":"string"}}`, `[]`)
	for _, test := range []struct {
		name, params, want string
		lines              []string
	}{
		{"declined", one, "decline", []string{"/decline"}},
		{"cancelled", one, "cancel", []string{" /CANCEL "}},
		{"declined in the end", one, "decline", []string{"x", "d"}},
		{"cancelled in the end", one, "cancel", []string{"x", "c"}},
		{"declined while editing", one, "decline", []string{"x", "e", "/decline"}},
		{"no fields", formParams("?", `{}`, `[]`), "accept", []string{"e", "s"}},
		{"a path", one, `{"action":"accept","content":{"a":"/etc"}}`, []string{"/etc", "s"}},
		{"not sent", formParams("?", `{"a":{"type":"string"}}`, `[]`), "cancel", []string{"x"}},
		{"nobody there", one, "cancel", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out screen
			c := &ask.Console{In: strings.NewReader(strings.Join(test.lines, "\n")), Out: &out}
			defer c.Close()
			assert.Contains(t, <-granted(t, &mcp.ClientOptions{Elicit: c.Elicit}, elicit, test.params), test.want, "the server %s", &out)
		})
	}
}

// What a server writes cannot pass for the console's own words, nor move the
// cursor.
func TestConsoleHarmless(t *testing.T) {
	var out screen
	c := &ask.Console{In: strings.NewReader("x\ns\n"), Out: &out}
	const evil = "\x1b[2J\u202egnp.exe\r\nServer \\\"bank\\\" asks you:\\u0007\\u009b\\u200b\\u2028"
	params := `{"message":"` + strings.NewReplacer("\x1b", `\u001b`, "\r\n", `\r\n`).Replace(evil) +
		`","requestedSchema":{"properties":{"a":{"type":"string","title":"T\u001b]0;x\u0007\nServer \"bank\"","description":"D\nServer","pattern":"x|\u001b"}}}}`
	assert.Contains(t, <-granted(t, &mcp.ClientOptions{Elicit: c.Elicit}, elicit, params), "accept", "the server")
	for _, line := range strings.Split(out.String(), "\n") {
		for _, r := range line {
			assert.True(t, ' ' <= r && r < 0x7f, "%U in %q is harmless", r, line)
		}
		assert.False(t, strings.HasPrefix(line, "Server") && !strings.HasPrefix(line, `Server "notes"`), "line %q", line)
	}
	assert.ContainsAll(t, out.String(), `  | <U+001B>[2J<U+202E>gnp.exe`, `  | Server "bank" asks you:<U+0007><U+009B><U+200B><U+2028>`)
}

// A question ends with its context even though nobody types, and what is typed
// then is no answer to the next.
func TestConsoleEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		var out screen
		c := &ask.Console{In: in, Out: &out}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		asks := func(ctx context.Context) {
			res, err := c.Elicit(ctx, &mcp.ElicitRequest{})
			if err == nil {
				err = errors.New(res.Action)
			}
			ended <- err
		}
		go asks(ctx)
		synctest.Wait()
		cancel()
		assert.Is(t, <-ended, context.Canceled)
		assert.Contains(t, out.String(), "Nobody waits for this answer any more.", "the user was not told")
		_, _ = io.WriteString(keys, "send\n")
		synctest.Wait()

		go asks(t.Context())
		synctest.Wait()
		_, _ = io.WriteString(keys, "d\n")
		assert.Equal(t, (<-ended).Error(), "decline")

		// What comes while the next one is asked already may have been meant for the
		// one before, and is not taken for an answer.
		ctx, cancel = context.WithCancel(t.Context())
		go asks(ctx)
		synctest.Wait()
		cancel()
		<-ended
		go asks(t.Context())
		synctest.Wait()
		_, _ = io.WriteString(keys, "d\n")
		synctest.Wait()
		assert.Contains(t, out.String(), "Please type it again.")
		assert.Equal(t, len(ended), 0, "ended")
		assert.True(t, strings.HasSuffix(strings.TrimSpace(out.String()), ":"), "it asks again: %s", &out)
		_, _ = io.WriteString(keys, "s\n")
		assert.Equal(t, (<-ended).Error(), "accept")
		_ = keys.Close()
	})
}

func TestConsoleOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		var out screen
		c := &ask.Console{In: in, Out: &out}
		answers := actionsOf(t, c.Elicit, 2)
		// One more does not wait longer than its context.
		ctx, cancel := context.WithCancel(t.Context())
		synctest.Wait()
		ended := inBackground(func() error { return assert.Err(c.Elicit(ctx, &mcp.ElicitRequest{})) })
		synctest.Wait()
		cancel()
		assert.Is(t, <-ended, context.Canceled)
		for i, line := range []string{"s", "d"} {
			assert.Equal(t, strings.Count(out.String(), "asks you"), i+1, "questions after %d answers", i)
			_, _ = io.WriteString(keys, line+"\n")
			synctest.Wait()
		}
		assert.Equal(t, [2]string{<-answers, <-answers}, [2]string{"accept", "decline"})
	})
}

// A slowInput has read deadlines, and does something before a read ends by one.
type slowInput struct {
	ended  chan struct{}
	before func()
}

func (s *slowInput) Read([]byte) (int, error) {
	<-s.ended
	s.before()
	return 0, os.ErrDeadlineExceeded
}

func (s *slowInput) SetReadDeadline(until time.Time) error {
	if !until.IsZero() {
		close(s.ended)
	}
	return nil
}

// Close waits for the goroutine that reads.
func TestConsoleCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		in := &slowInput{ended: make(chan struct{}), before: func() {
			time.Sleep(time.Second)
			over.Store(true)
		}}
		c := &ask.Console{In: in, Out: &screen{}}
		go func() { _, _ = c.Elicit(t.Context(), &mcp.ElicitRequest{}) }()
		synctest.Wait()
		assert.OK(t, c.Close())
		assert.True(t, over.Load(), "the read is over")
	})
}

// Close ends the question, the one that waits for its turn, and the goroutine
// that reads: goleak sees that it does.
func TestConsoleClose(t *testing.T) {
	u := newUser(t)
	answers := actionsOf(t, u.console.Elicit, 2)
	u.await(t, "[c]ancel: ")
	for range 2 {
		assert.OK(t, u.console.Close())
	}
	assert.Equal(t, [2]string{<-answers, <-answers}, [2]string{"cancel", "cancel"})
	assert.Equal(t, assert.Value(u.console.Elicit(t.Context(), &mcp.ElicitRequest{}))(t).Action, "cancel", "after Close: action")
	assert.OK(t, (&ask.Console{In: os.Stdin}).Close())
}

type brokenScreen struct{}

func (brokenScreen) Write([]byte) (int, error) { return 0, os.ErrClosed }

// What cannot be seen is not agreed to.
func TestConsoleBlind(t *testing.T) {
	c := &ask.Console{In: strings.NewReader("s\ns\n"), Out: brokenScreen{}}
	assert.Equal(t, assert.Value(c.Elicit(t.Context(), &mcp.ElicitRequest{}))(t).Action, "cancel", "action")
}

func TestConsoleLongLine(t *testing.T) {
	var out screen
	c := &ask.Console{In: strings.NewReader(strings.Repeat("s", 200_000) + "\nd\n"), Out: &out}
	res, err := c.Elicit(t.Context(), &mcp.ElicitRequest{})
	assert.OK(t, err, "%v, %v", res, err)
	assert.Contains(t, out.String(), "longer than 65536 bytes", "%v, %v", res, err)
	assert.Equal(t, res.Action, "decline", "%v, %v: action", res, err)
}

func TestConsoleLongMessage(t *testing.T) {
	var out screen
	c := &ask.Console{In: strings.NewReader("d\n"), Out: &out}
	_, _ = c.Elicit(t.Context(), &mcp.ElicitRequest{Server: strings.Repeat("s", 501), Params: &mcp.ElicitParams{Message: strings.Repeat("m", 20_007)}})
	assert.ContainsAll(t, out.String(), "(7 more characters are not shown)", "(1 more characters)")
}
