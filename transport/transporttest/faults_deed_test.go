//go:build unix

package transporttest_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A call is one call of a tool, at the server.
type call struct {
	victim *victim
	outlet outlet
	id     string // of the request, as it stands there
	nonce  string
	token  string // of its progress
	first  bool   // it is the first that the plan is about
	again  bool   // it brings the answers to the server's questions
	rounds int    // how often it has done so
}

func (c *call) run() { c.victim.ledger.note(c.nonce, "ran") }

// misbehave does what the plan wants to be done with the call.
func (c *call) misbehave(deed string) {
	switch deed {
	case "freeze":
		c.victim.freeze()
		return
	case "die early":
		os.Exit(7)
	case "hang early":
		c.hang()
		return
	case "elicit":
		c.elicit()
		return
	case "questions":
		c.askOften()
		return
	case "stop":
		c.stop()
		return
	case "turn":
		os.Exit(7) // and comes back in the other revision
	case "poison":
		if c.first {
			c.hang()
			return
		}
		deed = "twice a key"
	}
	c.run()
	switch deed {
	case "exit", "exit for good", "flap":
		c.cutOr(func() { os.Exit(7) })
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hang":
		c.hang()
	case "late":
		pause(c.outlet, 400*time.Millisecond)
		c.victim.send(c.outlet, done(c.id, c.nonce))
	case "stopsreading":
		c.victim.stopsReading.Store(true)
	case "stderr":
		for range 256 {
			_, _ = os.Stderr.WriteString(strings.Repeat("e", 1000) + strings.Repeat("\n", c.victim.plan.At%2))
		}
		c.victim.send(c.outlet, done(c.id, c.nonce))
	case "orphan", "daemon":
		c.leaveBehind(deed == "daemon")
		c.victim.send(c.outlet, done(c.id, c.nonce))
	default:
		c.outlet.Lock()
		defer c.outlet.Unlock()
		c.write(deed)
	}
}

// cutOr ends the connection, and a process by exit.
func (c *call) cutOr(exit func()) {
	if c.outlet.gone() == nil {
		exit()
	}
	c.outlet.cut(false)
}

func (c *call) hang() {
	if _, own := c.outlet.(*response); own {
		<-c.outlet.gone()
	}
}

// stop stops the process, or the network if the server is no process.
func (c *call) stop() {
	if c.outlet.gone() != nil {
		c.victim.freeze()
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {}
}

// pause waits, or until the client has left.
func pause(o outlet, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-o.gone():
		return false
	}
}

// leaveBehind starts a process that ignores SIGTERM and holds the server's
// output open, in a session of its own or not.
func (c *call) leaveBehind(ownSession bool) {
	cmd := exec.Command("/bin/sh", "-c", `trap "" TERM HUP INT; sleep 30; sleep 30`)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
	_ = cmd.Start() // if it fails nothing is left behind
}

// write does the deeds that are bytes on the wire, where the answer should be.
func (c *call) write(deed string) {
	o := c.outlet
	sound := o.frame(done(c.id, c.nonce))
	k := min(len(sound)*c.victim.plan.At/1000, len(sound)-2)
	switch deed {
	case "cut":
		_ = o.raw(sound[:k])
		c.cutOr(func() { os.Exit(0) })
	case "reset":
		_ = o.raw(sound[:k])
		o.cut(true)
	case "partial":
		_ = o.raw(sound[:k])
		<-o.gone()
	case "drop":
		c.cutOr(func() { os.Exit(0) })
	case "garbage":
		_ = o.raw(strayOutput(o) + sound)
	case "endless garbage":
		for range 300 {
			if o.raw("what is this?\n") != nil {
				return
			}
		}
	case "crlf":
		_ = o.raw(strings.ReplaceAll(sound, "\n", "\r\n"))
	case "bom":
		_ = o.raw("\ufeff" + sound)
	case "two":
		_ = o.raw(o.frame(done(c.id, c.nonce) + answer("77", `{}`)))
	case "duplicate":
		_ = o.raw(sound + sound)
	case "slice":
		for i := range len(sound) {
			_ = o.raw(sound[i : i+1])
		}
	case "loris":
		c.loris(sound)
	case "endless":
		c.endless(sound)
	case "big":
		_ = o.raw(o.frame(answer(c.id, doneResult(c.nonce, 200<<10))))
	case "large":
		_ = o.raw(o.frame(answer(c.id, doneResult(c.nonce, 4<<20))))
	case "noend":
		_ = o.raw(sound)
		<-o.gone()
	case "storm":
		for range 1000 {
			_ = o.raw(o.frame(listChanged))
		}
		_ = o.raw(sound)
	case "unreadable":
		_ = o.raw(o.frame(listChanged) + sound)
	case "progress":
		_ = o.raw(o.frame(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+c.token+`,"progress":1}}`) + sound)
	default:
		_ = o.raw(o.frame(c.malformed(deed)))
	}
}

// malformed returns an answer that is none.
func (c *call) malformed(deed string) string {
	result := doneResult(c.nonce, 0)
	switch deed {
	case "other ids":
		var all strings.Builder
		for _, id := range []string{"987654321", `"x` + c.id + `"`, "-1"} {
			all.WriteString(c.outlet.frame(answer(id, `{}`)))
		}
		_ = c.outlet.raw(all.String())
		return done(c.id, c.nonce)
	case "twice a key":
		return `{"jsonrpc":"2.0","id":` + c.id + `,"id":` + c.id + `,"result":` + result + `}`
	case "no result":
		return `{"jsonrpc":"2.0","id":` + c.id + `}`
	case "result and error":
		return `{"jsonrpc":"2.0","id":` + c.id + `,"result":` + result + `,"error":{"code":1,"message":"no"}}`
	case "wrong type":
		return answer(c.id, `["did `+c.nonce+`"]`)
	case "bad text":
		return answer(c.id, "{\"_meta\":{\"x\":\"\xff\xfe\"},"+result[1:])
	case "deep":
		return answer(c.id, strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000))
	}
	panic("unknown deed " + deed)
}

// inEvents reports whether messages travel in an event stream.
func inEvents(o outlet) bool { return strings.HasPrefix(o.frame(""), "event:") }

// noise is what some servers write in between.
func strayOutput(o outlet) string {
	const event = "event: other\ndata: {\"x\":1}\n\n"
	switch {
	case inEvents(o):
		return ": comment\n\nno colon\n\n" + event + "data\n\nid\nretry: soon\nunknown: field\n\n"
	case o.frame("") == "":
		return " \r\n\t\n"
	}
	return "Listening on port 3000\n\n{\"level\":\"info\",\"msg\":\"hello\"}\n[1,2]\nnull\n\x1b[32mready\x1b[0m\n\xff\xfe\n"
}

// loris writes something all the time, but never enough.
func (c *call) loris(sound string) {
	for i := range 100 {
		piece := sound[min(i, len(sound)-3):][:1]
		if inEvents(c.outlet) {
			piece = ":\n"
		}
		if c.outlet.raw(piece) != nil || !pause(c.outlet, 15*time.Millisecond) {
			return
		}
	}
	c.cutOr(func() { os.Exit(0) })
}

// endless writes a message that has no end, as far as one may wait for it.
func (c *call) endless(sound string) {
	chunk := strings.Repeat("x", 64<<10)
	if c.outlet.raw(strings.TrimSuffix(sound[:len(sound)/2], "\n")) != nil {
		return
	}
	for range 64 {
		if c.outlet.raw(chunk) != nil {
			return
		}
	}
	<-c.outlet.gone()
}

const question = `{"message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}`

// elicit asks the user before it runs the call.
func (c *call) elicit() {
	if c.victim.plan.Era == mcp.Revision20260728 && !c.again {
		c.victim.ledger.note(c.nonce, "refused")
		c.victim.send(c.outlet, answer(c.id, `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":`+question+`}}}`))
		return
	}
	if !c.again {
		c.victim.ask(c.outlet, "elicitation/create", question)
	}
	c.run()
	c.victim.send(c.outlet, done(c.id, c.nonce))
}

// askOften asks the user without end, as far as one may wait for it, before it runs
// the call.
func (c *call) askOften() {
	const requests, rounds, each = 200, 5, 16
	if c.victim.plan.Era != mcp.Revision20260728 {
		for range requests {
			c.victim.ask(c.outlet, "elicitation/create", question)
		}
	} else if c.rounds < rounds {
		c.victim.ledger.note(c.nonce, "refused")
		var questions []string
		for i := range each {
			questions = append(questions, fmt.Sprintf(`"q%d":{"method":"elicitation/create","params":%s}`, i, question))
		}
		c.victim.send(c.outlet, answer(c.id, fmt.Sprintf(`{"resultType":"input_required","requestState":"%d","inputRequests":{%s}}`, c.rounds+1, strings.Join(questions, ","))))
		return
	}
	c.run()
	c.victim.send(c.outlet, done(c.id, c.nonce))
}
