// The table of hostile scripts in docs/codemode.md.

package codemode_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

var update = flag.Bool("update", false, "measure hostile scripts, and write the table in docs/codemode.md")

// How long each hostile script takes beyond its time, and how much this process and that of
// the script grow meanwhile, on a machine that does little else.
func TestHostileTable(t *testing.T) {
	if !*update {
		t.Skip("run it with -update")
	}
	const limit = 2 * time.Second
	c := newHostileRunner(t, limit)
	run(t, c, `return 1`)
	var table bytes.Buffer
	fmt.Fprintf(&table, "| script | end | time in s | peak memory of its process | growth of the host |\n|---|---|---|---|---|\n")
	for _, test := range hostileScripts {
		debug.FreeOSMemory()
		before := memoryOf(t, "self", "VmRSS")
		assert.OK(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // the peak counts from now on
		stop, peak := make(chan struct{}), make(chan int)
		go func() { peak <- peakOfChild(t, stop) }()
		began := time.Now()
		report, err := c.Run(t.Context(), &codemode.Script{Code: test.code})
		took := time.Since(began)
		close(stop)
		most := <-peak
		assert.OK(t, err)
		growth := max(memoryOf(t, "self", "VmHWM")-before, 0)
		end, _, _ := strings.Cut(endOf(report), ":")
		fmt.Fprintf(&table, "| %s | %s | %.2f | %d MiB | %d MiB |\n", test.name, end, took.Seconds(), (most+1023)>>10, (growth+1023)>>10)
	}
	const page = "../../docs/codemode.md"
	text := assert.Value(os.ReadFile(page))(t)
	place := regexp.MustCompile(`(?s)(<!-- hostile -->\n).*(<!-- end -->)`)
	assert.True(t, place.Match(text), "%s has a place for the table", page)
	text = place.ReplaceAllFunc(text, func([]byte) []byte {
		return []byte("<!-- hostile -->\n\n" + table.String() + "\n<!-- end -->")
	})
	assert.OK(t, os.WriteFile(page, text, 0o644))
}

// memoryOf returns a line of the status of a process, in KiB; 0 if it has ended.
func memoryOf(t testing.TB, pid, name string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return n
		}
	}
	return 0
}

// peakOfChild looks at the sandbox until stop is closed, and returns the most resident
// memory that it had.
func peakOfChild(t testing.TB, stop <-chan struct{}) int {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0
	}
	pid, peak := "", 0
	for {
		select {
		case <-stop:
			return peak
		case <-time.After(2 * time.Millisecond):
		}
		if pid == "" {
			for _, child := range children() {
				if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child)); err == nil && exe == own {
					pid = strconv.Itoa(child)
				}
			}
		}
		if pid != "" {
			peak = max(peak, memoryOf(t, pid, "VmHWM"))
		}
	}
}
