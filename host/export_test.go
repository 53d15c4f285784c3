package host

import "time"

// Times returns options with another time after which what is unused is ended, and after which
// the tools of a lost server go; zero: as ever.
func (o *Options) Times(idle, toolGrace time.Duration) *Options {
	o.idleTimeout, o.toolGrace = idle, toolGrace
	return o
}
