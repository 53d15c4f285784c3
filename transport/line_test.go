package transport

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func readLines(r io.Reader, limit int64) (got []string) {
	for lines := (lineReader{r: r, limit: limit, skips: true}); ; {
		text, oversize, err := lines.next()
		if err != nil {
			return got
		}
		got = append(got, fmt.Sprintf("%s %v", text, oversize))
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("abcdefghij", 100)
	in := "one\n\n" + strings.Repeat("y", 64) + "\n" + long + "\nlast\nunfinished"
	want := []string{"one false", " false", strings.Repeat("y", 64) + " false", "", "last false"}
	for _, size := range []int{1, 7, 300, 1 << 20} {
		got := readLines(&chunks{data: []byte(in), size: size}, 64)
		if len(got) != len(want) || !strings.HasPrefix(got[3], long[:60]) || !strings.HasSuffix(got[3], long[len(long)-256:]+" true") {
			t.Errorf("reads of %d: %q", size, got)
			continue
		}
		got[3] = "" // how much is kept of the beginning depends on the reads
		assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want), "reads of %d", size)
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
		got := readLines(&chunks{data: data, size: int(size)%7 + 1}, limit)
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range got {
			assert.Equal(t, strings.HasSuffix(got[i], " true"), strings.HasSuffix(want[i], " true"), "oversize in %q, %q", got, want)
			assert.False(t, strings.HasSuffix(want[i], " false") && got[i] != want[i], "%q is not %q", got, want)
		}
	})
}

// FuzzLongLines does for lines beyond the reader's buffer what FuzzLineReader
// does for short ones.
func FuzzLongLines(f *testing.F) {
	f.Add([]byte("abc"), uint16(9000), uint16(4000), uint8(2))
	f.Add([]byte("x\n"), uint16(1<<15/3), uint16(1<<16-1), uint8(255))
	f.Add([]byte("\n"), uint16(1), uint16(1), uint8(0))
	f.Add([]byte(strings.Repeat("long", 1<<10)+"\n"), uint16(20), uint16(5000), uint8(9))
	f.Fuzz(func(t *testing.T, unit []byte, times, size uint16, tail uint8) {
		const limit = 2 * longRead
		if len(unit) == 0 || len(unit)*int(times) > 4*limit {
			return
		}
		data := append(bytes.Repeat(unit, int(times)), '\n')
		data = append(append(data, bytes.Repeat([]byte("t"), int(tail))...), '\n')
		lines := lineReader{r: &chunks{data: data, size: int(size) + 1}, limit: limit, skips: true}
		want := bytes.Split(data, []byte("\n"))
		var kept [][]byte // lines within the limit, which those after them leave as they are
		for i, text := range want[:len(want)-1] {
			got := nextLine(t, &lines)
			assert.Equal(t, got.oversize, len(text) > limit, "line %d of %d bytes: oversize", i, len(text))
			if !got.oversize {
				kept = append(kept, got.bytes)
			}
			if got.oversize && (len(got.bytes) > 2*keptOfOversize || !bytes.HasSuffix(text, got.bytes[len(got.bytes)-keptOfOversize:])) {
				t.Fatalf("line %d: got %d bytes, want both ends", i, len(got.bytes))
			}
		}
		_, _, err := lines.next()
		assert.Equal(t, err, io.EOF, "end")
		want = slices.DeleteFunc(want[:len(want)-1], func(text []byte) bool { return len(text) > limit })
		wantBytes(t, bytes.Join(kept, []byte("\n")), bytes.Join(want, []byte("\n")), "lines")
	})
}
