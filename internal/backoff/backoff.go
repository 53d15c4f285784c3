// Package backoff computes the waits between attempts.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Full returns a random wait between zero and base doubled for each failed
// attempt before (the first has number 0), but never above ceiling nor below
// floor. Waits spread over the whole range keep many clients of one server
// from coming back all at once.
func Full(attempt int, floor, base, ceiling time.Duration) time.Duration {
	top := base
	for range attempt {
		if top >= ceiling/2 {
			top = ceiling
			break
		}
		top *= 2
	}
	return max(floor, rand.N(top+1))
}
