package mcpgo

// Waiting returns how many calls wait for an approval.
func Waiting(e *Export) (n int) {
	e.waitMu.Lock()
	defer e.waitMu.Unlock()
	for _, calls := range e.waiting {
		n += calls
	}
	return n
}

// Approvals returns how many approvals it knows that calls wait for.
func Approvals(e *Export) int {
	e.waitMu.Lock()
	defer e.waitMu.Unlock()
	return len(e.waiting)
}
