package meter

import (
	"math"
	"math/bits"
	"time"
)

// buckets is how many there are: one for each of the first four microseconds, then four
// for each doubling, up to 2^32 microseconds, which is 71 minutes.
const buckets = 31 * 4

// A histogram counts durations in buckets that grow with them.
type histogram struct {
	count uint64
	max   time.Duration
	n     [buckets]uint32
}

func (h *histogram) add(d time.Duration) {
	h.n[bucketOf(d)]++
	h.count++
	h.max = max(h.max, d)
}

func (h *histogram) join(other *histogram) {
	h.count += other.count
	h.max = max(h.max, other.max)
	for i, n := range other.n {
		h.n[i] += n
	}
}

// bucketOf returns the bucket of a duration. A duration of more than 71 minutes is in the
// last one.
func bucketOf(d time.Duration) int {
	us := min(uint64(max(d, 0)/time.Microsecond), math.MaxUint32)
	if us < 4 {
		return int(us)
	}
	doubling := bits.Len64(us) - 1
	return (doubling-1)*4 + int(us>>(doubling-2))&3
}

// bucketEnd returns the duration at which a bucket ends.
func bucketEnd(i int) time.Duration {
	if i < 4 {
		return time.Duration(i+1) * time.Microsecond
	}
	return time.Duration(4+i%4+1) << (i/4 - 1) * time.Microsecond
}

func (h *histogram) quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.count))), 1)
	seen := uint64(0)
	for i, n := range h.n {
		if seen += uint64(n); seen >= rank {
			return min(bucketEnd(i), h.max)
		}
	}
	return h.max
}
