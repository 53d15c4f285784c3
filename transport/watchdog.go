package transport

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/proc"
)

// A watchdog ends the servers of this process when it can no longer do so itself, because it
// was killed. See [Command]. On Windows it does nothing: there a job object ends the servers.
type watchdog struct {
	mu     sync.Mutex // guards the following
	id     string     // random; begins the marks of all its servers
	count  int        // servers so far
	keeper keeper
}

// enroll prepares the start of a server: it sees to it that the watchdog runs,
// and returns the mark of the server.
func (w *watchdog) enroll() string {
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

// lent is the watchdog of all connections of this process. There is one as long as one of them
// needs it.
var lent struct {
	mu       sync.Mutex // guards the following
	watchdog *watchdog
	users    int
}

// borrowWatchdog returns the watchdog of this process, for returnWatchdog.
func borrowWatchdog() *watchdog {
	lent.mu.Lock()
	defer lent.mu.Unlock()
	if lent.users++; lent.users == 1 {
		lent.watchdog = new(watchdog)
	}
	return lent.watchdog
}

// returnWatchdog ends the watchdog of this process if no connection uses it any more.
func returnWatchdog() {
	lent.mu.Lock()
	var last *watchdog
	if lent.users--; lent.users == 0 {
		last, lent.watchdog = lent.watchdog, nil
	}
	lent.mu.Unlock()
	if last != nil {
		last.keeper.close()
	}
}

// watchdogError says why servers may outlive this process if it is killed: what is wrong with a program that the
// watchdog needs, such as "/bin/sh". They work nevertheless.
func watchdogError(program string, err error) error {
	return fmt.Errorf("servers may outlive this process if it is killed: the watchdog cannot use %s: %w", program, err)
}
