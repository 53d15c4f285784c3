package transport

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/proc"
)

// A Watchdog ends the servers of this process when it can no longer do so
// itself, because it was killed. The zero value is ready to use, by any number
// of connections. It must not be copied.
//
// On Unix a Watchdog is one process of /bin/sh, in a session of its own, started
// with the first server. It holds the reading end of a pipe, whose other end
// closes with this process, however that ends. It then kills the process group
// of every server and, on Linux, all processes that carry the mark which a
// [Command] puts into the environment of its server. For the latter it needs
// grep, and /proc. If the shell is killed itself it is started again. Where it
// cannot work the servers run all the same, and their connections say what is
// missing by Degraded of their Info, a [WatchdogError].
//
// On systems without /proc, such as macOS, a server that was just being started
// when this process was killed may be missed. On Windows a Watchdog does
// nothing: there a job object ends the servers.
type Watchdog struct {
	mu     sync.Mutex // guards the following
	id     string     // random; begins the marks of all its servers
	count  int        // servers so far
	keeper keeper
}

// Close ends the watchdog and returns when its process is gone. Close the
// connections that use it before: those that still live are no longer watched.
// Later calls do nothing. The error is always nil.
func (w *Watchdog) Close() error {
	w.keeper.close()
	return nil
}

// enroll prepares the start of a server: it sees to it that the watchdog runs,
// and returns the mark of the server.
func (w *Watchdog) enroll() string {
	w.mu.Lock()
	if w.id == "" {
		w.id = rand.Text()
	}
	w.count++
	all := proc.MarkVariable + "=" + w.id + "."
	mark := all + strconv.Itoa(w.count)
	w.mu.Unlock()
	w.keeper.start(all)
	return mark
}

// lent is the watchdog of all connections of this process that were given none. There is
// one as long as one of them needs it.
var lent struct {
	mu       sync.Mutex // guards the following
	watchdog *Watchdog
	users    int
}

// borrowWatchdog returns the watchdog of this process, for returnWatchdog.
func borrowWatchdog() *Watchdog {
	lent.mu.Lock()
	defer lent.mu.Unlock()
	if lent.users++; lent.users == 1 {
		lent.watchdog = new(Watchdog)
	}
	return lent.watchdog
}

// returnWatchdog ends the watchdog of this process if nobody uses it any more.
func returnWatchdog() {
	lent.mu.Lock()
	var last *Watchdog
	if lent.users--; lent.users == 0 {
		last, lent.watchdog = lent.watchdog, nil
	}
	lent.mu.Unlock()
	if last != nil {
		_ = last.Close()
	}
}

// A WatchdogError reports why servers may outlive this process if it is killed.
// They work nevertheless.
type WatchdogError struct {
	// Program is the one that the watchdog needs, such as "/bin/sh".
	Program string
	// Err is what is wrong with it.
	Err error
}

func (e *WatchdogError) Error() string {
	return fmt.Sprintf("servers may outlive this process if it is killed: the watchdog cannot use %s: %v", e.Program, e.Err)
}

func (e *WatchdogError) Unwrap() error { return e.Err }
