package glob

import (
	"iter"
	"math/bits"
)

// maxSteps is how many steps a program has at most: a byte of a pattern makes up
// to three of them, and one is its end.
const maxSteps = 3*MaxLength + 1

// states are a set of steps.
type states [(maxSteps + 63) / 64]uint64

func (s *states) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *states) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// all yields the members in order.
func (s *states) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(w*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
