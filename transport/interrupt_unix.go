//go:build unix

package transport

import "time"

// InterruptRead implements interruptible.
func (p *pipes) InterruptRead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.stdout.SetReadDeadline(time.Unix(1, 0))
}

// ResumeRead implements interruptible.
func (p *pipes) ResumeRead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.stdout.SetReadDeadline(p.drain)
	return p.drain.IsZero() || time.Now().Before(p.drain)
}
