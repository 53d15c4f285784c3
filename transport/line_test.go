package transport

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/stall"
)

func readLines(r io.Reader, limit int64) (got []string) {
	for lines := (lineReader{r: r, limit: limit}); ; {
		l, err := lines.next()
		if err != nil {
			return got
		}
		got = append(got, fmt.Sprintf("%s %v", l.bytes, l.oversize))
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("abcdefghij", 100)
	in := "one\n\n" + strings.Repeat("y", 64) + "\n" + long + "\nlast\nunfinished"
	want := []string{"one false", " false", strings.Repeat("y", 64) + " false", "", "last false"}
	for _, size := range []int{1, 7, 300, 1 << 20} {
		got := readLines(&chunks{[]byte(in), size}, 64)
		if len(got) != len(want) || !strings.HasPrefix(got[3], long[:60]) || !strings.HasSuffix(got[3], long[len(long)-256:]+" true") {
			t.Errorf("reads of %d: %q", size, got)
			continue
		}
		got[3] = "" // how much is kept of the beginning depends on the reads
		if !slices.Equal(got, want) {
			t.Errorf("reads of %d: %q", size, got)
		}
	}
}

// FuzzLineReader: the lines within the limit are those of bytes.Split, and how
// they arrive does not matter.
func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccccccccccccc\nd"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		const limit = 8
		var want []string
		for l := range bytes.SplitSeq(data, []byte("\n")) {
			want = append(want, fmt.Sprintf("%s %v", l, len(l) > limit))
		}
		want = want[:len(want)-1] // unfinished
		got := readLines(&chunks{data, int(size)%7 + 1}, limit)
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range got {
			if strings.HasSuffix(want[i], " true") != strings.HasSuffix(got[i], " true") || strings.HasSuffix(want[i], " false") && got[i] != want[i] {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}

// interrupted is a reader that gives a line's beginning and then nothing, and is
// interrupted every second.
type interrupted struct{ begun bool }

func (r *interrupted) Read(p []byte) (int, error) {
	if !r.begun {
		r.begun = true
		return copy(p, "{"), nil
	}
	time.Sleep(time.Second) // sleep: on the bubble's clock
	return 0, os.ErrDeadlineExceeded
}

// The wait for the rest of a message goes on while those who read it change.
func TestLineReaderStallsWhileInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		l := lineReader{r: &interrupted{}, limit: 1 << 10, stall: &stall.Watch{Over: func() { close(over) }}}
		begin := time.Now()
		for time.Since(begin) < time.Hour {
			if _, err := l.next(); err != os.ErrDeadlineExceeded {
				t.Fatalf("got %v, want an interruption", err)
			}
			select {
			case <-over:
				if got := time.Since(begin); got > 31*time.Second {
					t.Errorf("got the end after %v, want 30 s", got)
				}
				return
			default:
			}
		}
		t.Error("got no end of the wait")
	})
}
