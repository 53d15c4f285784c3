package host

import (
	"math"
	"math/bits"
	"time"
)

const (
	// histogramColumns is how many buckets each doubling of time has. The value in the
	// middle of a bucket differs by less than 1 % from every time in it, or by half a
	// microsecond.
	histogramColumns = 1 << histogramBits
	histogramBits    = 6
	// histogramRows reach to 2^32 microseconds, which is 71 minutes. What takes longer
	// is counted there.
	histogramRows = 32 - histogramBits + 1
)

// A histogram counts durations in buckets that grow with them, from a microsecond
// up. A row of buckets is made when the first duration falls into it: those of one
// server are mostly of a few sizes.
type histogram struct {
	count uint64
	max   time.Duration
	rows  [histogramRows]*[histogramColumns]uint32
}

func (h *histogram) add(d time.Duration) {
	row, column := bucketOf(d)
	h.row(row)[column]++
	h.count++
	h.max = max(h.max, d)
}

func (h *histogram) row(i int) *[histogramColumns]uint32 {
	if h.rows[i] == nil {
		h.rows[i] = new([histogramColumns]uint32)
	}
	return h.rows[i]
}

// bucketOf returns the place of a duration. The first row has a bucket for each
// microsecond, and so has the second; in each later one they are twice as wide.
func bucketOf(d time.Duration) (row, column int) {
	us := min(uint64(max(d, 0)/time.Microsecond), math.MaxUint32)
	row = max(bits.Len64(us)-histogramBits, 0)
	if row == 0 {
		return 0, int(us)
	}
	return row, int(us>>(row-1)) - histogramColumns
}

// bucketMiddle returns the duration in the middle of a bucket.
func bucketMiddle(row, column int) time.Duration {
	if row == 0 {
		return time.Duration(column)*time.Microsecond + time.Microsecond/2
	}
	low, width := time.Duration(column+histogramColumns)<<(row-1), time.Duration(1)<<(row-1)
	return low*time.Microsecond + width*time.Microsecond/2
}

// clear empties the histogram. It keeps its memory.
func (h *histogram) clear() {
	h.count, h.max = 0, 0
	for _, row := range h.rows {
		if row != nil {
			clear(row[:])
		}
	}
}

// join adds what another histogram has counted.
func (h *histogram) join(other *histogram) {
	h.count += other.count
	h.max = max(h.max, other.max)
	for i, row := range other.rows {
		if row == nil || other.count == 0 {
			continue
		}
		sum := h.row(i)
		for column, n := range row {
			sum[column] += n
		}
	}
}

// latency returns the quantiles. There must be something in the histogram.
func (h *histogram) latency() *Latency {
	return &Latency{
		Count: h.count,
		P50:   h.quantile(0.5),
		P90:   h.quantile(0.9),
		P99:   h.quantile(0.99),
		P999:  h.quantile(0.999),
		Max:   h.max,
	}
}

// quantile returns the shortest duration, to 1 %, that the fraction q of all does not
// exceed.
func (h *histogram) quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.count))), 1)
	seen := uint64(0)
	for i, row := range h.rows {
		if row == nil {
			continue
		}
		for column, n := range row {
			if seen += uint64(n); seen >= rank {
				return min(bucketMiddle(i, column), h.max)
			}
		}
	}
	return h.max
}
