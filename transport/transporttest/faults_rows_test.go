//go:build unix

package transporttest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A row is one fault. The cells of a row are its wires, the revisions that they
// carry, and the seeds.
type row struct {
	id, name string
	none     string // why it has no cells
	wires    []wire
	revision string // the only one; empty for all

	deed    string // of the server
	again   bool   // with every call, not with one
	hit     int    // with which call; zero for any
	ambient bool   // with no call in particular

	heals    bool // a later call must succeed
	harmless bool // every call must succeed, and has the time for it
	unready  bool // the client need not become ready first
	panics   bool // the caller's own panic comes back to it
	events   bool // HTTP answers with event streams only
	notices  bool // a shared connection is given up for want of a sign of life
	heavy    bool // it takes much time of the machine
	waits    bool // it takes much time and little of the machine's
	login    bool // the client logs in
	repeats  bool // calls may run twice: the tool's annotations are trusted
	padding  int  // of the arguments, in bytes
	limit    int64
	options  *mcp.RequestOptions

	tune   func(*cell, *mcp.ClientOptions) // before the client is made
	begin  func(*cell)                     // when it is ready
	during func(*cell)                     // beside the calls
	end    func(*cell)                     // before it is closed
	expect func(*cell, *attempt) error     // of a call that was hit
}

// faults is the table.
func faults() []row {
	return slices.Concat(deaths(), silences(), nonsense(), oversize(), networks(), refusals(), lists(), processes(), stores(), handlers(), wedges(), turns())
}

func wires(w ...wire) []wire { return w }

func everyWire() []wire { return wires(overStdio, overHTTP, overSSE) }
func web() []wire       { return wires(overHTTP, overSSE) }

func outcome(want ...mcp.Outcome) func(*cell, *attempt) error {
	return func(_ *cell, a *attempt) error {
		if a.err == nil || !slices.Contains(want, mcp.OutcomeOf(a.err)) {
			return fmt.Errorf("error %v with outcome %v, want %v", a.err, mcp.OutcomeOf(a.err), want)
		}
		return nil
	}
}

// inTime expects nothing of a call that ran into its deadline before.
func inTime(expect func(*cell, *attempt) error) func(*cell, *attempt) error {
	return func(c *cell, a *attempt) error {
		if errors.Is(a.err, context.DeadlineExceeded) {
			return nil
		}
		return expect(c, a)
	}
}

// exits expects an unknown outcome and an explanation by the process's end.
func exits(code int) func(*cell, *attempt) error {
	return inTime(func(c *cell, a *attempt) error {
		var exit *transport.ExitError
		if !errors.As(a.err, &exit) || exit.Code != code {
			return fmt.Errorf("error %v, want an ExitError with code %d", a.err, code)
		}
		return outcome(mcp.Unknown)(c, a)
	})
}

// overLimit expects an error about the size.
func overLimit(c *cell, a *attempt) error {
	var limit *mcp.LimitError
	if !errors.As(a.err, &limit) || limit.Max != c.row.limit {
		return fmt.Errorf("error %v, want a LimitError of %d", a.err, c.row.limit)
	}
	return outcome(mcp.Answered)(c, a)
}

// tooLate expects that nobody waits for an answer that comes after the deadline. On a
// machine that stalls until both are there, either may be seen first: a call that
// returned an answer is judged by when it did.
func tooLate(c *cell, a *attempt) error {
	if a.err == nil {
		return nil
	}
	return outcome(mcp.Unknown)(c, a)
}

func deaths() []row {
	unknown := outcome(mcp.Unknown)
	return []row{
		{id: "1.1", name: "server exits in a call, having run it", deed: "exit", wires: wires(overStdio), heals: true, expect: exits(7)},
		{id: "1.2", name: "server exits in a call, not having run it", deed: "die early", wires: wires(overStdio), heals: true, expect: exits(7)},
		{id: "1.3", name: "server is killed in a call", deed: "kill", wires: wires(overStdio), heals: true, expect: exits(-1)},
		{id: "1.4", name: "server dies with each call", deed: "exit", again: true, wires: wires(overStdio), expect: exits(7)},
		{id: "1.7", name: "server exits for good in a call that may be repeated", deed: "exit for good", hit: 1, wires: wires(overStdio), repeats: true,
			tune:   func(_ *cell, o *mcp.ClientOptions) { o.TrustAnnotations = true },
			begin:  reads(func(*cell, []*mcp.Tool, error) {}),
			expect: unknown},
		{id: "1.5", name: "answer is cut, then the connection ends", deed: "cut", wires: everyWire(), heals: true, expect: unknown},
		{id: "1.6", name: "connection ends instead of an answer", deed: "drop", wires: everyWire(), heals: true, expect: unknown},
	}
}

func silences() []row {
	unknown := outcome(mcp.Unknown)
	return []row{
		{id: "2.1", name: "call hangs, having run", deed: "hang", wires: everyWire(), heals: true, expect: unknown},
		{id: "2.2", name: "call hangs, not having run", deed: "hang early", wires: everyWire(), heals: true, expect: unknown},
		{id: "2.3", name: "every call hangs", deed: "hang", again: true, wires: everyWire(), expect: unknown},
		{id: "2.4", name: "answer comes after the deadline", deed: "late", wires: everyWire(), heals: true, expect: tooLate},
		{id: "2.5", name: "server never answers the handshake", deed: "silent", ambient: true, wires: wires(overStdio), unready: true},
		{id: "3", name: "server stops to read its input", deed: "stopsreading", wires: wires(overStdio), padding: 256 << 10, heals: true, expect: unknown},
	}
}

func nonsense() []row {
	failed := func(_ *cell, a *attempt) error {
		if a.err == nil || mcp.SafeToRetry(a.err) {
			return fmt.Errorf("error %v with outcome %v", a.err, mcp.OutcomeOf(a.err))
		}
		return nil
	}
	rows := []row{
		{id: "4.1", name: "garbage before an answer", deed: "garbage", harmless: true, heals: true},
		{id: "4.2", name: "nothing but garbage", deed: "endless garbage", wires: wires(overStdio), heals: true, expect: failed},
		{id: "5.1", name: "part of an answer, then silence", deed: "partial", notices: true, heals: true, expect: outcome(mcp.Unknown)},
		{id: "5.2", name: "lines end with CR LF", deed: "crlf", again: true, harmless: true, heals: true},
		{id: "5.3", name: "byte order mark before an answer", deed: "bom", heals: true},
		{id: "5.4", name: "two messages on one line", deed: "two", heals: true, expect: failed},
		{id: "5.5", name: "answer comes byte by byte", deed: "slice", harmless: true, heals: true},
		{id: "5.6", name: "answer comes twice", deed: "duplicate", heals: true},
		{id: "5.7", name: "answers with ids of nobody", deed: "other ids", events: true, harmless: true, heals: true},
	}
	rows = append(rows, row{id: "5.14", name: "invalid message beside a call that waits", deed: "poison", again: true, hit: 1,
		during: func(c *cell) { c.call(); c.call() }, expect: outcome(mcp.Unknown, mcp.Answered)})
	for i, deed := range []string{"twice a key", "no result", "result and error", "wrong type", "bad text", "deep"} {
		names := []string{"twice the same key", "neither result nor error", "result and error", "a result of the wrong type", "invalid UTF-8", "10,000 nested arrays"}
		r := row{id: fmt.Sprint("5.", 8+i), name: "answer has " + names[i], deed: deed, heals: true, expect: failed}
		if deed == "bad text" { // which costs itself alone
			r.expect, r.harmless = nil, true
		}
		rows = append(rows, r)
	}
	for i := range rows {
		if rows[i].wires == nil {
			rows[i].wires = everyWire()
		}
	}
	return rows
}

func oversize() []row {
	const limit = 64 << 10
	return []row{
		{id: "6.1", name: "answer above the limit", deed: "big", wires: everyWire(), limit: limit, heals: true, expect: inTime(overLimit)},
		{id: "6.2", name: "line without end", deed: "endless", wires: everyWire(), limit: limit, notices: true, heals: true},
		{id: "6.3", name: "compressed answer above the limit", deed: "gzip", wires: wires(overHTTP), limit: limit, heals: true, expect: inTime(overLimit)},
		{id: "7", name: "large answer within the limit (4 MiB)", deed: "large", wires: everyWire(), heavy: true, heals: true, harmless: true},
		{id: "8", name: "answer comes too slowly, with signs of life", deed: "loris", wires: everyWire(), heals: true, expect: outcome(mcp.Unknown)},
	}
}

func networks() []row {
	return []row{
		{id: "9.1", name: "network takes connections and carries nothing", deed: "silent", ambient: true, wires: web(), unready: true},
		{id: "9.2", name: "network stops to carry anything in a call", deed: "freeze", wires: web(), notices: true, heals: true, expect: outcome(mcp.Unknown)},
		{id: "10", name: "connection is reset in an answer", deed: "reset", wires: web(), heals: true, expect: outcome(mcp.Unknown)},
	}
}

// elsewhere fails the cell if anything came to another origin.
func elsewhere(c *cell) {
	if n := c.world.strayed.Load(); n > 0 {
		c.fail(wrong, "%d requests came to another origin", n)
	}
}

func refusals() []row {
	notSent := inTime(outcome(mcp.NotSent))
	rows := []row{
		{id: "12.1", name: "401 in a session", deed: "401", wires: web(), login: true, harmless: true, heals: true},
		{id: "12.2", name: "401 on the listening stream", deed: "401 get", ambient: true, wires: wires(overHTTP), revision: mcp.Revision20251125, harmless: true, heals: true},
		{id: "12.3", name: "429 with Retry-After", deed: "429", wires: web(), heals: true, expect: notSent},
		{id: "12.4", name: "503", deed: "503", wires: web(), heals: true},
		{id: "12.5", name: "500 after the call has run", deed: "500", wires: web(), heals: true, expect: outcome(mcp.Unknown)},
		{id: "12.6", name: "a web page instead of an answer", deed: "html", wires: wires(overHTTP), heals: true, expect: inTime(outcome(mcp.Unknown, mcp.Answered))},
		{id: "12.7", name: "redirect to another origin", deed: "redirect", wires: web(), heals: true, expect: notSent, end: elsewhere},
		{id: "13", name: "token source blocks", wires: web(), login: true, heals: true,
			begin:  func(c *cell) { c.world.login.block() },
			during: func(c *cell) { c.call(); c.world.login.unblock() }},
		{id: "15", name: "stream of an answer is never ended", deed: "noend", again: true, wires: wires(overHTTP), events: true, harmless: true, heals: true},
	}
	for i, shape := range []string{", 404", ", 404 with id null", ", 404 with id server-error", ", 400"} {
		rows = append(rows, row{id: fmt.Sprint("11.", 1+i), name: "session lost" + shape, deed: "session lost" + shape,
			wires: wires(overHTTP), revision: mcp.Revision20251125, heals: true,
			expect: inTime(func(_ *cell, a *attempt) error {
				if a.err != nil && !mcp.SafeToRetry(a.err) {
					return fmt.Errorf("error %v with outcome %v", a.err, mcp.OutcomeOf(a.err))
				}
				return nil
			})})
	}
	for i, shape := range []string{", 400", ", 400 with an error", ", 404 with -32601", ", 200 with -32601", ", 405"} {
		rows = append(rows, row{id: fmt.Sprint("11.", 5+i), name: "server of another revision" + shape, deed: "revision turns" + shape,
			wires: wires(overHTTP), heals: true, expect: orRepeatable})
	}
	return rows
}

// orRepeatable expects that a call that failed can be made again.
func orRepeatable(_ *cell, a *attempt) error {
	if a.err != nil && !errors.Is(a.err, context.DeadlineExceeded) && !mcp.SafeToRetry(a.err) {
		return fmt.Errorf("error %v with outcome %v, want that it was not sent", a.err, mcp.OutcomeOf(a.err))
	}
	return nil
}

// readsAgain reads the list of tools until it is the newer one, as a whole.
func readsAgain(c *cell) {
	c.until("the tools", func() error {
		var names []string
		var failed error
		reads(func(c *cell, tools []*mcp.Tool, err error) {
			for _, t := range tools {
				names = append(names, t.Name)
			}
			failed = err
		})(c)
		if newer := slices.Equal(names, []string{"first-1", "second-1"}); failed == nil && !newer {
			c.fail(wrong, "pages of two lists: %q", names)
		}
		return failed
	})
}

// reads reads the list of tools beside the calls.
func reads(check func(c *cell, tools []*mcp.Tool, err error)) func(*cell) {
	return func(c *cell) {
		ctx, stop := context.WithTimeout(context.Background(), healTime)
		defer stop()
		tools, err := c.client.Tools(ctx)
		check(c, tools, err)
	}
}

func lists() []row {
	return []row{
		{id: "16", name: "server dies with each second call", deed: "flap", wires: everyWire(), heals: true},
		{id: "17", name: "1,000 announcements of other tools in a call", deed: "storm", wires: everyWire(), events: true, heavy: true, heals: true,
			end: func(c *cell) {
				if n := c.client.State().ToolsVersion; n > 100 {
					c.fail(wrong, "the announcements made %d versions", n)
				}
			}},
		{id: "18.1", name: "list of tools changes between its pages", deed: "pages", ambient: true, wires: everyWire(), events: true, heals: true,
			during: readsAgain},
		{id: "18.2", name: "list of tools goes round in circles", deed: "cycle", ambient: true, wires: everyWire(), heals: true,
			during: reads(func(c *cell, _ []*mcp.Tool, err error) {
				if err == nil || mcp.OutcomeOf(err) != mcp.Answered {
					c.fail(wrong, "an endless list: error %v", err)
				}
			})},
	}
}

// startsNot replaces the program by one that cannot be started.
func startsNot(find func(dir string) (program string), want error) func(*cell, *mcp.ClientOptions) {
	return func(c *cell, _ *mcp.ClientOptions) {
		cmd := &transport.Command{Path: find(c.dir), Env: []string{c.cookie}}
		c.world.transport = cmd
		c.row.end = func(c *cell) {
			for _, a := range c.attempts {
				var start *transport.StartError
				switch {
				case mcp.OutcomeOf(a.err) != mcp.NotSent:
					c.fail(wrong, "outcome %v", mcp.OutcomeOf(a.err))
				case !errors.As(a.err, &start):
					if !errors.Is(a.err, context.DeadlineExceeded) {
						c.fail(wrong, "error %v, want a StartError", a.err)
					}
				case errors.Is(start, syscall.ETXTBSY): // another cell forked while the file was written
				case !errors.Is(start, want):
					c.fail(wrong, "error %v, want %v", start, want)
				}
			}
		}
	}
}

func file(name, text string, mode os.FileMode) func(string) string {
	return func(dir string) string {
		path := filepath.Join(dir, name)
		_ = os.WriteFile(path, []byte(text), mode)
		return path
	}
}

func processes() []row {
	stdio := wires(overStdio)
	missing := func(dir string) string { return filepath.Join(dir, "missing") }
	return []row{
		{id: "19.1", name: "server ignores SIGTERM and the end of its input", deed: "stubborn", ambient: true, wires: stdio, heals: true, harmless: true},
		{id: "19.2", name: "server leaves a process behind that ignores SIGTERM", deed: "orphan", wires: stdio, heals: true, harmless: true},
		{id: "19.3", name: "server leaves a daemon behind that holds its output", deed: "daemon", wires: stdio, heals: true, harmless: true},
		{id: "20", name: "host is killed", none: "no client is left that could be asked; a test of its own"},
		{id: "21", name: "server floods standard error", deed: "stderr", again: true, wires: stdio, heals: true, harmless: true},
		{id: "22.1", name: "program does not exist", wires: stdio, unready: true, tune: startsNot(missing, fs.ErrNotExist)},
		{id: "22.2", name: "program must not be run", wires: stdio, unready: true, tune: startsNot(file("plain", "x", 0o600), fs.ErrPermission)},
		{id: "22.3", name: "program is not a program", wires: stdio, unready: true, tune: startsNot(file("text", "\x01\x02", 0o700), syscall.ENOEXEC)},
		{id: "22.4", name: "program's interpreter does not exist", wires: stdio, unready: true, tune: startsNot(file("script", "#!/missing/interpreter\n", 0o700), fs.ErrNotExist)},
	}
}

func stores() []row {
	const none = "of the stores of logins, which have tests of their own"
	return []row{
		{id: "14", name: "tokens that expire at once", none: none},
		{id: "23", name: "disk is full or read-only", none: none},
		{id: "24", name: "stored record is damaged", none: none},
		{id: "25", name: "power is lost while a record is written", none: none},
		{id: "26", name: "two hosts share one store", none: none},
		{id: "27", name: "clock is wrong or jumps", none: none},
		{id: "28", name: "keyring is locked or missing", none: none},
	}
}

func handlers() []row {
	elicits := func(_ *cell, o *mcp.ClientOptions) {
		o.Elicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("oops") }
	}
	return []row{
		{id: "29.1", name: "handler of the server's questions panics", deed: "elicit", wires: everyWire(), events: true, heals: true, tune: elicits},
		{id: "29.2", name: "handler of progress panics", deed: "progress", wires: everyWire(), events: true, heals: true, panics: true,
			options: &mcp.RequestOptions{Progress: func(*mcp.ProgressParams) { panic("oops") }}},
		{id: "30.1", name: "client is closed at any moment", wires: everyWire(), unready: true, during: func(c *cell) { c.anyMoment(); c.close() }},
		{id: "30.2", name: "client is shut down at any moment", wires: everyWire(), unready: true, during: func(c *cell) {
			c.anyMoment()
			ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer stop()
			_ = c.client.Shutdown(ctx)
		}},
		{id: "30.3", name: "client is closed while calls hang", deed: "hang", again: true, wires: everyWire(), during: func(c *cell) { c.anyMoment(); c.close() }},
	}
}

// anyMoment waits for some time.
func (c *cell) anyMoment() { <-time.After(time.Duration(c.rng.IntN(150_000)) * time.Microsecond) }
