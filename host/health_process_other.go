//go:build !linux

package host

// A processTable is what the system says of processes, which is nothing here.
type processTable struct{}

// of returns the process alone.
func (t *processTable) of(pid int) *Process {
	if pid == 0 {
		return nil
	}
	return &Process{PID: pid}
}
