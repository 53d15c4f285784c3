package mcp

import (
	"cmp"
	"errors"
	"net"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
)

const (
	retryBase    = 500 * time.Millisecond
	retryCeiling = 60 * time.Second
	// healthyAfter is how long a connection must last for the failures before
	// it to be forgotten.
	healthyAfter = 60 * time.Second
	// A call that needs the server brings the next attempt forward, but not
	// closer to the last one than this, doubled with each failure.
	wakeBase    = 250 * time.Millisecond
	wakeCeiling = 5 * time.Second
	// Where nothing listens an attempt costs next to nothing: it is wakeRefused after the
	// last, and twice that after each wakeDoubling attempts.
	wakeRefused  = 40 * time.Millisecond
	wakeDoubling = 64
	// announceEvery bounds how often announcements of changed lists are passed on, and how
	// soon after each other tools are read because of them.
	announceEvery = 250 * time.Millisecond
)

// errRenewed ends a connection because of Reconnect.
var errRenewed = errors.New("connection renewed on request")

// supervise makes one connection after the other until Close. It alone writes
// the state after the first. It returns also when a connection needs nothing: notify has it
// go on.
func (c *Client) supervise() {
	for {
		conn := c.idle
		var err error
		if conn == nil {
			conn, err = c.connect(c.era)
			c.mu.Lock()
			c.attempts++
			c.mu.Unlock()
			if err == nil {
				c.publish(conn)
				c.greetWithLevel(conn)
			}
		}
		if err == nil {
			c.idle = conn
			if err = c.watchConnection(conn); err == nil {
				return
			}
			c.idle = nil
			c.endConnection(conn, err)
			if isRevisionError(err) {
				c.era.forget()
			}
			if time.Since(conn.opened) >= healthyAfter || errors.Is(err, errRenewed) {
				c.failures = 0
			}
			if c.failures == 0 {
				// The first end of a sound connection is mended at once.
				c.failures = 1
				if c.closing.Err() == nil {
					c.set(State{Phase: Connecting, Err: err})
					continue
				}
			}
		}
		if c.closing.Err() != nil {
			c.set(State{Phase: Closed})
			return
		}
		c.failures++
		c.opts.Logger.Info("mcp: no connection", "server", c.name, "failures", c.failures, "error", err)
		c.awaitRetry(err, c.failures)
	}
}

// A signal is what the supervisor is to look at.
type signal uint8

const (
	serverNeeded signal = 1 << iota // by a call: try again soon
	renewalWanted
	listsChanged // see outdated
	loginChanged // of the present connection
)

// notify tells the supervisor, and has it go on if it has returned.
func (c *Client) notify(s signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notifyLocked(s)
}

func (c *Client) notifyLocked(s signal) {
	c.signals |= s
	poke(c.wake)
	if c.supervisorDone {
		c.supervisorDone = false
		c.wg.Go(c.supervise)
	}
}

// takeSignals returns which of the signals there were since it was called last.
func (c *Client) takeSignals(of signal) signal {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.signals & of
	c.signals &^= of
	return found
}

// goIdle reports whether a connection needs nothing. Then supervise returns, and whatever happens
// next starts it again.
func (c *Client) goIdle(conn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.supervisorDone = !isClosed(conn.ended) && c.closing.Err() == nil && conn.unhealthy == nil && c.signals&^serverNeeded == 0
	return c.supervisorDone
}

// publish publishes a new connection.
func (c *Client) publish(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signals &^= renewalWanted // this connection is the renewal
	conn.number = c.state.Connections + 1
	info := conn.wire.Info()
	s := State{
		Phase:           Ready,
		Connections:     conn.number,
		Server:          conn.info.server,
		ProtocolVersion: conn.info.revision,
		Instructions:    conn.info.instructions,
		Capabilities:    conn.info.capabilities,
		PID:             info.PID,
		Degraded:        info.Degraded,
	}
	s.keepCounts(c.state)
	s.count(listTools | listResources | listPrompts)
	c.setLocked(s, conn)
	c.catchUpOnRoots(conn)
}

// set publishes a state without a connection, keeping what counts across connections.
func (c *Client) set(s State) {
	s.Err = visible(s.Err)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Connections = c.state.Connections
	s.keepCounts(c.state)
	c.setLocked(s, nil)
}

func (s *State) keepCounts(of State) {
	s.ToolsVersion, s.ResourcesVersion, s.PromptsVersion = of.ToolsVersion, of.ResourcesVersion, of.PromptsVersion
	s.QuestionsDeclined = of.QuestionsDeclined
}

// watchConnection watches a connection until it ends and returns why, or until it needs nothing and
// returns nil.
func (c *Client) watchConnection(conn *connection) error {
	var due <-chan time.Time // when announcements may be passed on again
	for {
		told := c.takeSignals(renewalWanted | listsChanged | loginChanged)
		if told&renewalWanted != 0 {
			return errRenewed
		}
		c.mu.Lock()
		err := conn.unhealthy
		c.mu.Unlock()
		if err != nil {
			if isRevisionError(err) {
				conn.drain(supersededWait, c.closing.Done())
			}
			return err
		}
		if told&loginChanged != 0 {
			c.showLogin(conn)
		}
		if told&listsChanged != 0 || due == nil {
			due = c.announceChanges(&conn.announcedAt)
		}
		needed := conn.login.Load()
		if needed == nil && due == nil && c.goIdle(conn) {
			return nil
		}
		var done <-chan struct{}
		if needed != nil {
			done = needed.done
		}
		select {
		case <-c.closing.Done():
			return ErrClosed
		case <-conn.ended:
			return cmp.Or(conn.readErr, errEnded)
		case <-done:
			conn.login.CompareAndSwap(needed, nil) // the user has logged in
			c.showLogin(conn)
		case <-due:
			due = nil
		case <-c.wake:
		}
	}
}

// listKinds are the lists of a server, as a set.
type listKinds uint32

const (
	listTools listKinds = 1 << iota
	listResources
	listPrompts
)

// listChanged takes the announcement that lists of the server have changed. Any
// number of them is one.
func (c *Client) listChanged(kinds listKinds) {
	if kinds&listTools != 0 {
		c.announcedTools()
	}
	c.outdated.Or(uint32(kinds))
	c.notify(listsChanged)
}

// announceChanges makes announcements known, as often as they may be. Passed is when that was done
// last. It returns when it is to be called again, nil if nothing is left.
func (c *Client) announceChanges(passed *time.Time) <-chan time.Time {
	if c.outdated.Load() == 0 {
		return nil
	}
	if wait := time.Until(passed.Add(announceEvery)); wait > 0 {
		return time.After(wait)
	}
	*passed = time.Now()
	c.versionsChanged(listKinds(c.outdated.Swap(0))) // what is announced from here on is counted next
	return nil
}

// versionsChanged makes announcements known.
func (c *Client) versionsChanged(kinds listKinds) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	s.count(kinds)
	c.setLocked(s, c.current)
}

// count counts new versions of lists.
func (s *State) count(kinds listKinds) {
	if kinds&listTools != 0 {
		s.ToolsVersion++
	}
	if kinds&listResources != 0 {
		s.ResourcesVersion++
	}
	if kinds&listPrompts != 0 {
		s.PromptsVersion++
	}
}

// endConnection takes a connection out of use and closes it.
func (c *Client) endConnection(conn *connection, err error) {
	if c.closing.Err() == nil {
		c.set(State{Phase: Connecting, Err: err})
	}
	c.sessionEnds(conn, err)
	conn.close(err)
}

// wakeAfter is how soon after the last attempt the next may be.
func wakeAfter(err error, failures int) time.Duration {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && !dial.Timeout() {
		return min(wakeRefused<<min(failures/wakeDoubling, 10), wakeCeiling)
	}
	return min(wakeBase<<min(failures-1, 10), wakeCeiling)
}

// awaitRetry waits for the time of the next attempt, or Reconnect. A needed server is tried sooner. One
// that wants a login is not tried before the user has logged in; if they have done so already it
// did not help, and there is a wait as for a needed server.
func (c *Client) awaitRetry(err error, failures int) {
	ended := time.Now()
	soonest := ended.Add(wakeAfter(err, failures))
	s := State{Phase: Waiting, Err: err, Failures: failures}
	s.RetryAt = ended.Add(backoff.Full(failures-1, retryBase/2, retryBase, retryCeiling))
	timer := time.NewTimer(time.Until(s.RetryAt))
	defer timer.Stop()
	sooner := !soonest.Before(s.RetryAt)
	var done <-chan struct{}
	if n := loginFor(err); n != nil {
		s = State{Phase: Authenticating, Err: err, Failures: failures, LoginURL: n.url}
		sooner = true
		if n.over() {
			timer.Reset(time.Until(soonest))
		} else {
			timer.Stop()
			done = n.done
		}
	}
	c.takeSignals(serverNeeded) // by calls that saw an earlier attempt fail
	c.set(s)
	for waiting := true; waiting; {
		told := c.takeSignals(serverNeeded | renewalWanted)
		if told&renewalWanted != 0 {
			break
		}
		if told != 0 && !sooner {
			sooner = true
			timer.Reset(time.Until(soonest))
		}
		select {
		case <-timer.C:
			waiting = false
		case <-done:
			waiting = false
		case <-c.closing.Done():
			return
		case <-c.wake:
		}
	}
	c.set(State{Phase: Connecting, Err: err, Failures: failures})
}
