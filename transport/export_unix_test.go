//go:build unix

package transport

// A Watchdog is one that a test has made.
type Watchdog = watchdog

// SetWatchdog has the watchdog of a test watch the servers of a recipe.
func (c *Command) SetWatchdog(w *Watchdog) { c.watchdog = w }

// LentWatchdog returns the watchdog that connections without one of their own share.
func LentWatchdog() *Watchdog {
	lent.mu.Lock()
	defer lent.mu.Unlock()
	return lent.watchdog
}

// Close ends the shell.
func (w *Watchdog) Close() error {
	w.keeper.close()
	return nil
}

// SetShell lets a watchdog use another program than /bin/sh.
func (w *Watchdog) SetShell(path string) { w.keeper.shell = path }

// PID returns the process id of the shell, or 0 if none runs.
func (w *Watchdog) PID() int {
	w.keeper.mu.Lock()
	defer w.keeper.mu.Unlock()
	if w.keeper.running == nil {
		return 0
	}
	return w.keeper.running.cmd.Process.Pid
}

// Note tells the shell of a group and that it has ended.
func (w *Watchdog) Note(group int) {
	w.keeper.add(group)
	w.keeper.drop(group)
}

// Groups returns how many groups the watchdog would end.
func (w *Watchdog) Groups() int {
	w.keeper.mu.Lock()
	defer w.keeper.mu.Unlock()
	return len(w.keeper.groups)
}
