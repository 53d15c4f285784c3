package transport

// LentWatchdog returns the watchdog that connections without one of their own share.
func LentWatchdog() *Watchdog {
	lent.mu.Lock()
	defer lent.mu.Unlock()
	return lent.watchdog
}
