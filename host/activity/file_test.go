package activity_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// openFile opens a log file that is full at that many bytes; 0: as ever.
func openFile(t *testing.T, path string, most int64) *activity.File {
	t.Helper()
	f := assert.Value(activity.OpenFile(path))(t)
	if most > 0 {
		f.SetMost(most)
	}
	return f
}

// put writes one event as a log does.
func put(t *testing.T, f *activity.File, events ...activity.Event) {
	t.Helper()
	assert.OK(t, f.Write(t.Context(), events))
}

// read returns the ids of the events in a file, the newest first.
func read(t *testing.T, path string, filter *activity.Filter) string {
	t.Helper()
	var all []activity.Event
	for e, err := range activity.Events(path, filter) {
		assert.OK(t, err)
		all = append(all, e)
	}
	return ids(all)
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := assert.Value(os.ReadDir(dir))(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// What was recorded can be read, by nobody else, the newest first.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "activity.jsonl")
	f := openFile(t, path, 0)
	assert.Equal(t, read(t, path, nil), "", "an empty file has")
	l := activity.New(nil, f)
	full := activity.Event{
		Time: time.Unix(5, 7).UTC(), ID: "full", Parent: "p", Kind: "call", User: "u\nv", Server: "s", Tool: "t", Outcome: "denied",
		Error: "e\u2028", Duration: time.Second, ArgumentBytes: 4, ResultBytes: 3, ArgumentHash: "h", Detail: map[string]string{"k": "v"},
	}
	l.Record(t.Context(), full)
	for i := range 3 {
		l.Record(t.Context(), numbered(i))
	}
	assert.OK(t, l.Close(t.Context()))
	assert.Equal(t, read(t, path, nil), "2 1 0 full", "read")
	assert.Equal(t, read(t, path, &activity.Filter{ID: "1"}), "1", "read")
	for e, err := range f.Events(&activity.Filter{Tool: "t"}) {
		got, _ := json.Marshal(e)
		want, _ := json.Marshal(full)
		assert.OK(t, err, "read")
		assert.Equal(t, string(got), string(want), "read")
	}
	for range f.Events(nil) {
		break // must not go on
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			assert.Equal(t, assert.Value(os.Stat(name))(t).Mode().Perm(), want, "%s", name)
		}
	}
	assert.Equal(t, len(filesIn(t, filepath.Dir(path))), 1, "there")
}

// A file that is full becomes the one before, and what that held goes.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b.jsonl")
	f := openFile(t, path, 3500) // bytes of three events and a bit
	for i := range 8 {
		put(t, f, activity.Event{ID: strconv.Itoa(i), Kind: "call", Time: time.Now(), Error: strings.Repeat("x", 1000)})
	}
	assert.Equal(t, read(t, path, nil), "7 6 5 4 3", "read")
	assert.Equal(t, fmt.Sprint(filesIn(t, filepath.Dir(path))), "[a.b.jsonl a.b.jsonl.1]", "files")
}

// What is renamed while it is read is read once.
func TestRotationWhileRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what is read cannot be renamed there")
	}
	f := openFile(t, filepath.Join(t.TempDir(), "a.jsonl"), 1)
	put(t, f, numbered(0))
	put(t, f, numbered(1), numbered(2))
	var seen []activity.Event
	for e, err := range f.Events(nil) {
		assert.OK(t, err)
		if len(seen) == 0 {
			put(t, f, numbered(3))
		}
		seen = append(seen, e)
	}
	assert.Equal(t, ids(seen), "2 1 0", "read")
}

// What is not an event is passed over, and a line that was broken off does not spoil
// the next one.
func TestTornLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f := openFile(t, path, 0)
	put(t, f, numbered(1))
	add := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteString(text)
			_ = file.Close()
		}
		assert.OK(t, err)
	}
	add(`{"time":"2026-11-22T00:30:00Z","id":"torn","kind":"ca`)
	assert.Equal(t, read(t, path, nil), "1", "read")
	f = openFile(t, path, 0) // as the next process does
	put(t, f, numbered(2))
	add("\n\nnull\n[1]\n{}\n\xff\x00\n\"" + strings.Repeat("x", 2<<20) + "\"\n{\"id\":\"long\"}" + strings.Repeat(" ", 2<<20) + "\n{\"id\":\"hand\",\"later\":{\"a\":[1]}}\n")
	put(t, f, numbered(3))
	assert.Equal(t, read(t, path, nil), "3 hand 2 1", "read")
}

// Lines that lie across the pieces in which the file is read are whole.
func TestLongFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f := openFile(t, path, 0)
	var want []string
	for i := range 300 {
		e := numbered(i)
		e.Error = strings.Repeat("é\n", i*7)
		put(t, f, e)
		want = append(want, e.ID)
	}
	slices.Reverse(want)
	assert.Equal(t, read(t, path, nil), strings.Join(want, " "), "read")
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := activity.OpenFile(dir)
	assert.Contains(t, fmt.Sprint(err), dir, "a folder")
	path := filepath.Join(dir, "a.jsonl")
	f := openFile(t, path, 0)
	_, err = activity.OpenFile(filepath.Join(path, "x"))
	assert.Contains(t, fmt.Sprint(err), path, "a folder that is a file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, f.Write(ctx, []activity.Event{numbered(1)}), context.Canceled, "Write")
	assert.Equal(t, read(t, filepath.Join(dir, "none", "a.jsonl"), nil), "", "read")
	var last error
	for _, err := range activity.Events(dir, nil) {
		last = err
	}
	assert.Fails(t, last, "a folder can be read")
	// Deleted and renamed by others, it is made anew.
	put(t, f, numbered(1))
	assert.OK(t, os.Remove(path))
	put(t, f, numbered(2))
	assert.Equal(t, read(t, path, nil), "2", "read")
	assert.OK(t, os.Remove(path))
	assert.OK(t, os.Mkdir(path, 0o700))
	assert.Contains(t, fmt.Sprint(f.Write(t.Context(), []activity.Event{numbered(3)})), path, "a folder in its place")
}

// What is no file is not written to: it may never return.
func TestDeviceIsNoFile(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	assert.Fails(t, assert.Err(activity.OpenFile("/dev/full")), "a device is taken for a file")
}

const (
	writerPath = "ACTIVITY_TEST_WRITER"
	writerName = "ACTIVITY_TEST_NAME"
)

// writeForever writes numbered events and says so after each, and waits to be killed.
func writeForever(path string) {
	f, err := activity.OpenFile(path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f.SetMost(140_000) // more than half of what four of them write, so that each event is in one of two files
	for i := range 150 {
		e := activity.Event{ID: os.Getenv(writerName) + "." + strconv.Itoa(i), Kind: "call", Time: time.Now(), Error: strings.Repeat("x", 300)}
		if err := f.Write(context.Background(), []activity.Event{e}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(e.ID)
	}
	select {}
}

// Several processes write to one file while it is renamed again and again, and are
// killed at some moment. Every event that one of them says it has written is there,
// once.
func TestProcesses(t *testing.T) {
	program := assert.Value(os.Executable())(t)
	path := filepath.Join(t.TempDir(), "a.jsonl")
	var mu sync.Mutex
	var said []string
	var wg sync.WaitGroup
	for i := range 4 {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), writerPath+"="+path, writerName+"="+strconv.Itoa(i))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		assert.OK(t, err)
		wg.Go(func() {
			lines := bufio.NewScanner(out)
			for n := 0; lines.Scan(); n++ {
				mu.Lock()
				said = append(said, lines.Text())
				mu.Unlock()
				if n == 100+10*i {
					_ = cmd.Process.Kill()
				}
			}
			_ = cmd.Wait()
		})
	}
	wg.Wait()
	count := map[string]int{}
	for _, id := range strings.Fields(read(t, path, nil)) {
		count[id]++
	}
	for id, n := range count {
		assert.Equal(t, n, 1, "%s is there times", id)
	}
	for _, id := range said {
		assert.Equal(t, count[id], 1, "%s is there times", id)
	}
	assert.True(t, len(said) >= 400, "%d events", len(said))
	assert.True(t, slices.Contains(filesIn(t, filepath.Dir(path)), "a.jsonl.1"), "no file was full")
}
