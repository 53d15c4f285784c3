//go:build unix

package transporttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	callTime    = 250 * time.Millisecond // deadline of each call
	patientTime = healTime               // the same where each call must succeed
	allowance   = 50 * time.Millisecond  // by which it may be exceeded
	healTime    = 15 * time.Second       // until a call must succeed again
	closeTime   = 4 * time.Second        // that Close may take
)

// A trouble is one way to fail.
type trouble int

const (
	hang    trouble = iota // a call or Close that returned too late
	wrong                  // an outcome or answer that is not true
	unwell                 // a client that did not recover
	numbers                // how many kinds there are
)

// A cell is one run of a fault: one client, one server, one seed.
type cell struct {
	row  *row
	wire wire
	plan plan
	seed int
	rng  *rand.Rand
	dir  string // for the ledger

	cookie string
	meter  *lagMeter
	client *mcp.Client
	world  *world

	questions atomic.Int64 // that came to the user

	mu       sync.Mutex
	attempts []*attempt
	problems [numbers][]string
	overrun  time.Duration
}

// An attempt is one call, as its caller saw it.
type attempt struct {
	nonce              string
	deadline, returned time.Time
	text               string
	err                error
	panicked           bool
}

func (c *cell) fail(kind trouble, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems[kind] = append(c.problems[kind], fmt.Sprintf("%s, revision %s, seed %d: ", c.wire, c.plan.Era, c.seed)+fmt.Sprintf(format, args...))
}

// run runs the cell from beginning to end.
func (c *cell) run() {
	calls := c.fillPlan()
	world, err := newWorld(c)
	if err != nil {
		c.fail(unwell, "the server does not start: %v", err)
		return
	}
	c.world = world
	opts := c.options() // which may replace the transport
	c.client = mcp.NewClient("victim", world.transport, opts)
	if !c.row.unready {
		c.ready()
	}
	if c.row.begin != nil {
		c.row.begin(c)
	}
	c.together(calls)
	c.untilHit()
	if c.row.notices && c.wire != overHTTP {
		c.notice()
	}
	if c.row.heals {
		c.recover()
	} else {
		c.call()
	}
	if c.row.end != nil {
		c.row.end(c)
	}
	c.close()
	c.world.close()
	c.judge()
}

// fillPlan draws the plan by the seed, and how many calls are made.
func (c *cell) fillPlan() (calls int) {
	c.plan.Ledger = filepath.Join(c.dir, "ledger")
	c.plan.Deed = c.row.deed
	calls = 1 + c.rng.IntN(3)
	if c.row.hit > 0 {
		calls = c.row.hit
	}
	if c.row.deed != "" && !c.row.ambient {
		c.plan.Hit = calls
	}
	c.plan.Again = c.row.again
	c.plan.At = c.rng.IntN(1000)
	c.plan.Stream = c.rng.IntN(2) == 0 || c.row.events
	return calls
}

// options returns short limits for the client. The row may change them, and
// the world's transport.
func (c *cell) options() *mcp.ClientOptions {
	opts := &mcp.ClientOptions{
		ConnectTimeout: 6 * time.Second,
		IdleTimeout:    time.Second, CallTimeout: 2 * time.Second,
	}
	if c.row.harmless {
		opts.IdleTimeout, opts.CallTimeout = patientTime, patientTime
	}
	if c.row.notices {
		opts.IdleTimeout, opts.CallTimeout, opts.HealthInterval = 300*time.Millisecond, 300*time.Millisecond, 100*time.Millisecond
	}
	if c.row.tune != nil {
		c.row.tune(c, opts)
	}
	return opts
}

// until tries again and again until try returns nil, for healTime. A cell that it does not become
// is unwell.
func (c *cell) until(what string, try func() error) {
	for limit := time.Now().Add(healTime); ; <-time.After(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			c.fail(unwell, "%s: %v; state %+v", what, err, c.client.State())
			return
		}
	}
}

// ready waits for the first connection, before there is a fault. A machine that stalls
// may need more than one attempt.
func (c *cell) ready() {
	ctx, stop := context.WithTimeout(context.Background(), healTime)
	defer stop()
	c.until("not ready at first", func() error { return c.client.Ready(ctx) })
}

// together makes at least n calls, some of them at the same time.
func (c *cell) together(n int) {
	var wg sync.WaitGroup
	callers := 1 + c.rng.IntN(3)
	each := (n + callers - 1) / callers
	for range callers {
		wg.Go(func() {
			for range each {
				c.call()
			}
		})
	}
	if c.row.during != nil {
		c.row.during(c)
	}
	wg.Wait()
}

// untilHit calls until the fault has happened: some calls may not have reached
// the server.
func (c *cell) untilHit() {
	c.until("the fault did not happen", func() error {
		if c.plan.Hit == 0 || c.hit() || c.client.State().Phase == mcp.Closed {
			return nil
		}
		c.call()
		return errNotYet
	})
}

var errNotYet = errors.New("not yet")

// hit reports whether the fault has happened.
func (c *cell) hit() bool {
	for line := range readLedger(c.plan.Ledger) {
		if strings.HasPrefix(line, "hit ") {
			return true
		}
	}
	return false
}

// notice waits until the client has given up the connection, or makes another
// one, without being asked for anything.
func (c *cell) notice() {
	ctx, stop := context.WithTimeout(context.Background(), healTime)
	defer stop()
	for s := range c.client.Watch(ctx) {
		if s.Phase != mcp.Ready || s.Connections > 1 {
			return
		}
	}
	c.fail(unwell, "the dead connection is kept: state %+v", c.client.State())
}

// recover calls until a call succeeds. It is patient: a large message that is given up
// in the middle, as on a machine that stalls, ends the connection once more.
func (c *cell) recover() {
	c.until("no call succeeds after the fault", func() error { return c.callWithin(patientTime).err })
}

// call makes one call.
func (c *cell) call() *attempt {
	if c.row.harmless {
		return c.callWithin(patientTime)
	}
	return c.callWithin(callTime)
}

// callWithin makes one call with a nonce of its own and a deadline.
func (c *cell) callWithin(allowed time.Duration) *attempt {
	c.mu.Lock()
	a := &attempt{nonce: fmt.Sprint("n", len(c.attempts)+1)}
	c.attempts = append(c.attempts, a)
	c.mu.Unlock()
	args := json.RawMessage(`{"nonce":"` + a.nonce + `","padding":"` + strings.Repeat("p", c.row.padding) + `"}`)
	ctx, stop := context.WithTimeout(context.Background(), allowed)
	defer stop()
	a.deadline, _ = ctx.Deadline()
	defer func() {
		a.returned = time.Now()
		if r := recover(); r != nil {
			a.panicked, a.err = true, fmt.Errorf("panic: %v", r)
		}
	}()
	var res *mcp.CallToolResult
	res, a.err = c.client.CallTool(ctx, "do", args, c.row.options)
	if a.err == nil && len(res.Content) == 1 {
		text, _ := res.Content[0].(*mcp.TextContent)
		a.text = strings.TrimRight(text.Text, " ")
	}
	return a
}

// close closes the client, and looks how long that takes.
func (c *cell) close() {
	began := time.Now()
	_ = c.client.Close()
	took := time.Since(began) - c.meter.lateness(began, time.Now())
	if took > closeTime {
		c.fail(hang, "Close took %v", took)
	}
}

// judge compares what the callers were told with what the server did. Nothing
// runs any more.
func (c *cell) judge() {
	book := readLedger(c.plan.Ledger)
	for _, a := range c.attempts {
		c.judgeTime(a)
		c.judgeOutcome(a, book)
		if c.row.expect != nil && book["hit "+a.nonce] > 0 {
			if err := c.row.expect(c, a); err != nil {
				c.fail(wrong, "%s, which was hit: %v", a.nonce, err)
			}
		}
		if c.row.harmless && a.err != nil {
			c.fail(wrong, "%s failed though the fault does no harm: %v", a.nonce, a.err)
		}
	}
}

func (c *cell) judgeTime(a *attempt) {
	late := a.returned.Sub(a.deadline)
	if late > 0 {
		late -= c.meter.lateness(a.deadline.Add(-10*time.Millisecond), a.returned)
	}
	c.overrun = max(c.overrun, late)
	if late > allowance {
		c.fail(hang, "%s returned %v after its deadline: %v", a.nonce, late, a.err)
	}
}

func (c *cell) judgeOutcome(a *attempt, book map[string]int) {
	ran := book["ran "+a.nonce]
	refused := book["refused "+a.nonce]
	outcome := mcp.OutcomeOf(a.err)
	switch {
	case ran > 1 && !c.row.repeats:
		c.fail(wrong, "%s ran %d times: %v", a.nonce, ran, a.err)
	case a.panicked && c.row.panics:
	case a.panicked:
		c.fail(wrong, "%s: %v", a.nonce, a.err)
	case a.err == nil && ran == 0:
		c.fail(wrong, "%s succeeded and ran %d times", a.nonce, ran)
	case a.err == nil && a.text != "did "+a.nonce:
		c.fail(wrong, "%s got the answer %.100q", a.nonce, a.text)
	case a.err != nil && outcome == mcp.NotSent && ran != 0:
		c.fail(wrong, "%s is %v and ran: %v", a.nonce, outcome, a.err)
	case a.err != nil && outcome == mcp.Answered && ran == 0 && refused == 0:
		c.fail(wrong, "%s is %v and was never seen to the end: %v", a.nonce, outcome, a.err)
	}
}

// environment of a child that is the cell's server.
func (c *cell) environment() []string {
	text, _ := json.Marshal(c.plan)
	return []string{victimVariable + "=" + string(text), "GORACE=atexit_sleep_ms=0", c.cookie}
}

func (c *cell) command() *transport.Command {
	program, _ := os.Executable()
	return &transport.Command{Path: program, Env: c.environment(), CloseTimeout: 400 * time.Millisecond, MaxMessage: c.row.limit}
}
