package meter

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each call is counted once. What the caller gave up or nobody sent does not spoil the
// times.
func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		r := m.Read()
		assert.True(t, r.Measured() == 0 && r.Total == (Counts{}), "unused: %+v is nothing", r)
		record := func(took time.Duration, o Outcome) {
			end := m.Begin()
			assert.Equal(t, m.Read().InFlight, 1, "calls in flight")
			time.Sleep(took)
			end(o)
		}
		record(time.Millisecond, Done)
		record(time.Millisecond, ToolError)
		record(time.Second, TimedOut)
		record(20*time.Second, Cancelled)
		record(0, Unavailable)
		record(0, Refused)
		r = m.Read()
		want := Counts{Done: 1, ToolError: 1, TimedOut: 1, Unavailable: 1, Refused: 1, Cancelled: 1}
		assert.Equal(t, r.Total, want, "total")
		assert.Equal(t, r.Recent, want, "recent")
		assert.Equal(t, r.InFlight, 0, "calls in flight")
		assert.Equal(t, r.Measured(), 3, "measured calls")
		assert.Equal(t, r.Max(), time.Second, "slowest")
		assert.True(t, r.Quantile(0.5) <= 2*time.Millisecond, "the median %v is about 1ms", r.Quantile(0.5))
	})
}

// What happened more than five minutes ago is not recent, even if nothing has happened
// since, and however often the slots were used.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		for minute := range 60 {
			m.Begin()(Done)
			want := uint64(min(minute+1, 5))
			if got := m.Read().Recent[Done]; got != want {
				t.Fatalf("minute %d: got %d recent calls, want %d", minute, got, want)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(Window - 2*slot)
		assert.Equal(t, m.Read().Recent[Done], 1, "shortly before they are old: recent calls")
		time.Sleep(slot)
		r := m.Read()
		assert.Equal(t, r.Recent, (Counts{}), "afterwards: got recent")
		assert.Equal(t, r.Measured(), 0, "afterwards: measured calls")
		assert.Equal(t, r.Total[Done], 60, "afterwards: calls in all")
		time.Sleep(100 * 24 * time.Hour)
		assert.Equal(t, m.Read().Recent, (Counts{}), "a hundred days later: got recent")
	})
}

// The quantiles are those of the sorted durations, and at most a quarter more.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var h, other histogram
		var all []time.Duration
		for i := range 1 + random.IntN(5_000) {
			d := time.Duration(float64(time.Microsecond) * float64(uint64(1)<<random.IntN(31)) * (1 + random.Float64()))
			all = append(all, d)
			if i%2 == 0 {
				h.add(d)
			} else {
				other.add(d)
			}
		}
		h.join(&other)
		slices.Sort(all)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
			want, got := all[min(max(int(q*float64(len(all))+0.999999), 1), len(all))-1], h.quantile(q)
			assert.True(t, got >= want && got <= want+want/4+time.Microsecond, "of %d: quantile %v %v is %v to a quarter more", len(all), q, got, want)
		}
		assert.Equal(t, h.max, all[len(all)-1], "slowest")
	}
}

// Every duration has a bucket, and ends not later than that.
func TestBuckets(t *testing.T) {
	us := time.Microsecond
	for _, d := range []time.Duration{-1, 0, 1, us - 1, us, 3 * us, 4 * us, 5 * us, 7 * us, 8 * us, 63 * us, 64 * us, 129 * us, time.Hour, 1<<32*us - 1, 1 << 32 * us, 1<<63 - 1} {
		i := bucketOf(d)
		if i < 0 || i >= buckets {
			t.Fatalf("%v: got bucket %d, want one of %d", d, i, buckets)
		}
		assert.True(t, d >= 1<<32*us || bucketEnd(i) > d, "%v: its bucket ends later, at %v", d, bucketEnd(i))
		assert.True(t, i == 0 || bucketEnd(i-1) <= max(d, 0), "%v: its bucket begins earlier, at %v", d, bucketEnd(i-1))
	}
}

// Nothing is lost when many count at once.
func TestConcurrently(t *testing.T) {
	var m Meter
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range 500 {
				end := m.Begin()
				if i%50 == 0 {
					m.Read()
				}
				end(Outcome(i % 2))
			}
		})
	}
	wg.Wait()
	r := m.Read()
	assert.Equal(t, r.Total, Counts{Done: 4_000, ToolError: 4_000}, "total")
	assert.Equal(t, r.Measured(), 8_000, "measured calls")
}

// A meter takes no more memory for a million calls than for a few.
func TestAllocations(t *testing.T) {
	var m Meter
	m.Begin()(Done)
	got := testing.AllocsPerRun(1_000, func() { m.Begin()(Done) })
	assert.True(t, got <= 1, "%v allocations for a call, of at most 1", got)
}

func BenchmarkMeter(b *testing.B) {
	var m Meter
	b.Run("count", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Begin()(Done)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Read()
		}
	})
}
