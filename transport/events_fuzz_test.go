package transport

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// parseEvents reads a whole event stream by the letter of the HTML standard,
// and writes its events down as readEvents does.
func parseEvents(stream string) string {
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream), "\n")
	digits := regexp.MustCompile(`^[0-9]+$`)
	var out strings.Builder
	fields := map[string]string{}
	for _, line := range lines[:len(lines)-1] { // the last has no end
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			retry, _ := strconv.Atoi(fields["retry"])
			retry = min(retry, int(longestRetry/time.Millisecond))
			data, hasData := fields["data"]
			if hasData || fields["id"] != "" || retry != 0 {
				fmt.Fprintf(&out, "%q %q %q %v\n", fields["event"], strings.TrimSuffix(data, "\n"), fields["id"], time.Duration(retry)*time.Millisecond)
			}
			fields = map[string]string{}
		case name == "data":
			fields["data"] += value + "\n"
		case name == "id" && !strings.Contains(value, "\x00"), name == "event", name == "retry" && digits.MatchString(value):
			fields[name] = value
		}
	}
	return out.String()
}

// FuzzEvents: the reader finds what another parser finds, however the stream
// arrives.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "data\ndata\n\n", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", "\xef\xbb\xbfid: 1\n\n", ":\xef\xbb\xbf\n\ndata:x\n\n",
		"event: e\nid: a\x00b\nretry: 10\nretry: x\ndata:  two\n\n", "retry: 99999999999\n\n", "retry:0\n\n", "data: a\n\r\ndata: b", "id\nid: 2\nid:\n\n", "\r", "\n\r\n",
	} {
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(5))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		want := parseEvents(string(data))
		for _, size := range []int{int(size)%13 + 1, len(data) + 1} {
			got, err := readEvents(&chunks{bytes.Clone(data), size}, 1<<30)
			if err != io.EOF || got != want {
				t.Errorf("%q in reads of %d: %v\n%s\nwant\n%s", data, size, err, got, want)
			}
		}
	})
}
