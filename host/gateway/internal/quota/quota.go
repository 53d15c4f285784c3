// Package quota bounds what clients take.
package quota

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrTooMany is why nothing more is taken.
var ErrTooMany = errors.New("gateway: too many")

// A Quota counts what is bounded. Each owner has a part of it at most, so that no one keeps others out.
type Quota struct {
	Taken      int // by all together
	most, part int
	Of         map[string]int // by owner
}

// New returns a quota. The part of an owner is a quarter unless it is given.
func New(most, part int) Quota {
	return Quota{most: most, part: cmp.Or(part, max(most/4, 1)), Of: map[string]int{}}
}

// Take counts n more, or says that there are too many of what.
func (q *Quota) Take(owner string, n int, what string) error {
	switch {
	case q.Taken+n > q.most:
		return fmt.Errorf("%w %s", ErrTooMany, what)
	case owner != "" && q.Of[owner]+n > q.part:
		return fmt.Errorf("%w %s of this user or key", ErrTooMany, what)
	}
	q.Taken += n
	if owner != "" {
		q.Of[owner] += n
	}
	return nil
}

// Give counts n less.
func (q *Quota) Give(owner string, n int) {
	q.Taken -= n
	if q.Of[owner] -= n; q.Of[owner] <= 0 {
		delete(q.Of, owner)
	}
}
