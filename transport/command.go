package transport

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/proc"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// defaultCloseTimeout is how long a server may take to stop by itself when
	// CloseTimeout is zero, and noCloseTimeout if that is negative: as long as it takes.
	defaultCloseTimeout = 5 * time.Second
	noCloseTimeout      = math.MaxInt64
	// drainTimeout bounds the reading of what an ended process left in its
	// pipes, which a process that it started may still hold open.
	drainTimeout = time.Second
	// exitTimeout is how long after the end of its output a process may exit, for the
	// error to say how. A server that closes its output and goes on delays the error.
	exitTimeout = 2 * time.Second
	// killTimeout bounds the wait for a killed process. Only one that hangs in
	// the kernel takes longer.
	killTimeout = 2 * time.Second
	// orphanTimeout bounds the wait for what a server left behind and was
	// killed with it, but is reaped by others.
	orphanTimeout = time.Second
	// stderrInError is how much of stderr an [ExitError] carries.
	stderrInError = 4 << 10
)

// A Command starts a server as a child process and speaks with it over its
// standard input and output, one JSON message per line. Every Connect starts a
// process of its own.
//
// The process gets a process group of its own. Close closes its standard input,
// waits, sends SIGTERM to the group, waits again, and kills the group. What the
// server started itself is killed when the server ends, however that happens,
// and when this process is killed the watchdog ends them all: on Unix one process of
// /bin/sh, in a session of its own, which all connections of this process share and which
// ends with the last of them. It holds the reading end of a pipe, whose other end
// closes with this process, however that ends. It then kills the process group
// of every server and, on Linux, all processes that carry the mark of one, for which it needs
// grep, and /proc. If the shell is killed itself it is started again. Where it
// cannot work the servers run all the same, and their connections say what is
// missing by Degraded of their Info. On systems without /proc, such as macOS, a server that
// was just being started when this process was killed may be missed.
//
// On Linux that includes processes that left the group, by setsid: they are
// found by a variable MCPBELT_PROCESS, of random value, in the environment of
// the server, which they inherit. A process that changes its user or clears its
// environment escapes if it left the group, too. On other Unix systems all that
// left the group escapes. On Windows the process and its descendants are in a
// job object, and Close ends the job after the first wait.
//
// The process gets its three pipes and no other open file. On Linux each start marks
// all descriptors of this process from 3 on as close-on-exec, so that those which it
// has inherited, or a C library has opened, reach no process that it starts later,
// unless they are given to that, as by ExtraFiles. On other Unix systems only what Go
// has opened is kept from the process.
//
// Lines on standard output that are not JSON-RPC are skipped; 100 of them in a
// row end the connection, and so does a message that is begun and not continued for
// 30 s. The last 4 KiB of standard error are kept for [ExitError].
//
// Stderr, StrayOutput and Ended are called on goroutines of the connection. What they panic
// with is dropped.
type Command struct {
	// Path is the program, looked up in PATH if it has no path separator.
	Path string
	// Args are its arguments, without the program's name. On Windows a batch file,
	// such as npx.cmd, gets none with one of "%!^&|<>() or a control character, which
	// cmd.exe would read itself: the start fails then.
	Args []string
	// Dir is its working directory; empty means this process's own.
	Dir string
	// Env holds further environment variables as "KEY=value". Of this process's
	// environment the child gets only what [BaseEnv] says: what locates programs
	// and the user's files, language, time zone, certificates, and proxies without
	// a password. All else, such as GITHUB_TOKEN, has to stand here. A proxy here
	// takes the place of the same one in large or small letters.
	Env []string
	// Stderr, if set, receives each line that the server writes to standard
	// error, without the newline, cut at 4 KiB. It is called on one goroutine
	// and must not block for long.
	Stderr func(line string)
	// StrayOutput, if set, receives each line on standard output that is not JSON-RPC,
	// cut at 4 KiB. Such a line is lost otherwise, and so may be the answer that it was
	// meant to be. It is called on one goroutine at a time and must not block.
	StrayOutput func(line string)
	// CloseTimeout is how long the server may take to stop by itself before it
	// is killed. Default: 5 s. Negative: as long as it takes, and Close waits for it.
	CloseTimeout time.Duration
	// MaxMessage limits a message of the server, in bytes. Default: 16 MiB.
	// Negative: none.
	MaxMessage int64
	// Start, if set, starts the process in the place of cmd.Start, which it has to
	// call, on whatever thread the process is to descend from. It is there to
	// confine the process. It may add to cmd.Env, but must not wait for anything else;
	// its error is that of the start.
	Start func(cmd *exec.Cmd) error
	// Ended, if set, is called once for each process that was started, after the end
	// of it and of all that it left behind, and Close waits for it. It is there to
	// clear up what the process does not take along. It must end soon.
	Ended func()

	waits    commandWaits
	watchdog *watchdog // of tests; nil: that of all connections of this process
}

// commandWaits are waits that tests on busy machines make longer or shorter. Zero is the default.
type commandWaits struct {
	input time.Duration // for a server whose input has ended, before SIGTERM; default: half of CloseTimeout
	exit  time.Duration // for the exit of a server whose output has ended; default: exitTimeout
	drain time.Duration // for what an ended process left in its pipes; default: drainTimeout
}

// Connect starts the process. It does not wait for the server to speak; ctx
// bounds nothing, since starting a process does not block.
func (c *Command) Connect(ctx context.Context) (mcp.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if c.Path == "" {
		return nil, &OptionError{"Command.Path", errors.New("empty: name the server's program")}
	}
	conn, err := c.start()
	if err != nil {
		return nil, &StartError{c.Path, err}
	}
	return conn, nil
}

func (c *Command) start() (*commandConn, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = withBaseEnv(c.Path, c.Env)
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	if runtime.GOOS == "windows" {
		if err := checkBatch(cmd.Path, c.Args); err != nil {
			return nil, err
		}
	}
	pipes, err := newPipes(cmd)
	if err != nil {
		return nil, err
	}
	dog, giveBack := c.watchdog, func() {}
	if dog == nil {
		dog, giveBack = borrowWatchdog(), returnWatchdog
	}
	start := c.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	group, err := startGroup(cmd, dog, func(cmd *exec.Cmd) error {
		if err := proc.CloseInherited(); err != nil {
			return err
		}
		return start(cmd)
	})
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		giveBack()
		return nil, err
	}
	cmd.Args, cmd.Env = nil, nil // a server may live for months, and these are of no use
	conn := &commandConn{
		path:         c.Path,
		cmd:          cmd,
		group:        group,
		pipes:        pipes,
		watchdog:     dog,
		giveBack:     giveBack,
		closeTimeout: closeTimeout(c.CloseTimeout),
		waits:        c.waits,
		vitals:       proc.WatchVitals(cmd.Process.Pid),
		stderr:       &ring{onLine: forgiven(c.Stderr)},
		ended:        c.Ended,
		exited:       make(chan struct{}),
	}
	conn.stream = newStream(pipes, c.MaxMessage, conn.cause, conn.doomed)
	if stray := forgiven(c.StrayOutput); stray != nil {
		conn.stray = func(line []byte) { stray(string(line[:min(len(line), longestLine)])) }
	}
	conn.wg.Add(1)
	if !conn.watch() {
		go conn.readStderr()
		go conn.await()
	}
	return conn, nil
}

// A commandConn is one process and the stream over its pipes. It owns the stream's
// reader and, while there is something on stderr or the process has just ended, a goroutine
// for each of the two; where the system cannot tell these, they wait for it.
type commandConn struct {
	*stream
	path         string
	cmd          *exec.Cmd
	group        *group
	vitals       *proc.Vitals
	pipes        *pipes
	watchdog     *watchdog
	giveBack     func() // the watchdog
	closeTimeout time.Duration
	waits        commandWaits
	stderr       *ring
	ended        func() // nil: nothing to clear up

	alive    *os.File    // can be read when the process has ended; nil without watches
	ending   *proc.Watch // of it
	speaking *proc.Watch // of stderr

	exited chan struct{} // closed when exit is set
	exit   *ExitError
	wg     sync.WaitGroup // await
}

// Info implements mcp.Caller. The connection is degraded if the server may outlive this
// process.
func (c *commandConn) Info() mcp.ConnInfo {
	info := c.stream.Info()
	info.PID, info.Degraded = c.cmd.Process.Pid, c.watchdog.keeper.degraded()
	return info
}

// watch has the process's end and its stderr watched, and reports whether the system can.
func (c *commandConn) watch() bool {
	raw, err := c.pipes.stderr.SyscallConn()
	if err != nil {
		return false
	}
	if c.alive = proc.OpenEnd(c.cmd.Process.Pid); c.alive == nil {
		return false
	}
	var set sync.WaitGroup // before the functions run
	set.Add(1)
	defer set.Done()
	c.speaking = proc.WatchReadable(c.pipes.stderr, func() {
		set.Wait()
		if c.stderr.readFrom(func(b []byte) (int, error) { return proc.ReadNow(raw, b) }) {
			c.speaking.Again()
		}
	})
	c.ending = proc.WatchReadable(c.alive, func() {
		set.Wait()
		if proc.HasEnded(c.cmd.Process.Pid) {
			c.await()
		} else {
			c.ending.Again()
		}
	})
	if c.speaking != nil && c.ending != nil {
		return true
	}
	c.unwatch()
	c.alive = nil
	return false
}

// unwatch ends the watches.
func (c *commandConn) unwatch() {
	for _, w := range []*proc.Watch{c.speaking, c.ending} {
		if w != nil {
			w.End()
		}
	}
	if c.alive != nil {
		_ = c.alive.Close()
	}
}

// await waits for the process, and then ends whatever it left behind.
func (c *commandConn) await() {
	defer c.wg.Done()
	err := c.group.await(c.cmd)
	// A process outside the group may hold the pipes open.
	c.pipes.drainUntil(time.Now().Add(cmp.Or(c.waits.drain, drainTimeout)))
	c.readStderr()
	c.exit = newExitError(c.path, c.cmd.ProcessState, err, c.stderr.tail())
	close(c.exited)
	c.unwatch()
	if c.ended != nil {
		defer caught("Ended", new(error))
		c.ended()
	}
}

// readStderr reads stderr to its end, unless that is done.
func (c *commandConn) readStderr() { c.stderr.readFrom(c.pipes.stderr.Read) }

func newExitError(path string, state *os.ProcessState, err error, stderr string) *ExitError {
	e := &ExitError{Path: path, Code: -1, Stderr: stderr}
	if state != nil {
		e.Code = state.ExitCode()
		e.Signal = signalName(state)
	} else if err != nil {
		e.Signal = err.Error()
	}
	return e
}

// doomed reports whether the process has ended or been killed, even if that is
// not known from its exit yet. What is written to such a process may still be
// read by it, but is never answered.
func (c *commandConn) doomed() bool {
	select {
	case <-c.exited:
		return true
	default:
		return c.vitals.Doomed()
	}
}

// cause explains the end of the output by the exit of the process, if that
// follows at once.
func (c *commandConn) cause(err error) error {
	select {
	case <-c.exited:
		return c.exit
	case <-time.After(cmp.Or(c.waits.exit, exitTimeout)):
	}
	return err
}

// closeTimeout returns the time that a transport's CloseTimeout means.
func closeTimeout(configured time.Duration) time.Duration {
	switch {
	case configured == 0:
		return defaultCloseTimeout
	case configured < 0:
		return noCloseTimeout
	}
	return configured
}

// Close implements mcp.Conn. It returns when the process and what it started are
// gone and all goroutines of the connection have ended, at the latest shortly after
// CloseTimeout, and what Ended takes.
func (c *commandConn) Close() error {
	c.closeOnce.Do(func() {
		_ = c.pipes.stdin.Close()
		if !c.exits(cmp.Or(c.waits.input, c.closeTimeout/2)) {
			c.group.terminate()
			if !c.exits(c.closeTimeout / 2) {
				c.group.kill()
				c.exits(killTimeout)
			}
		}
		c.fail(errClosed)
		c.pipes.closeOurs()
		c.wait()
		if c.exits(0) {
			c.wg.Wait()
			c.group.awaitEmpty(orphanTimeout)
		}
		c.group.release()
		c.vitals.Close()
		c.giveBack()
	})
	return nil
}

func (c *commandConn) exits(within time.Duration) bool {
	select {
	case <-c.exited:
		return true
	default:
	}
	select {
	case <-c.exited:
		return true
	case <-time.After(within):
		return false
	}
}
