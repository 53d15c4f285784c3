package filewatch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config/filewatch"
)

// ways are what makes the content of a file another one. Each is given the path and
// a folder beside it, on the same disk.
var ways = []struct {
	name   string
	text   string                                  // afterwards; empty: there is no file
	before func(t *testing.T, path, beside string) // nil: it is a plain file
	change func(t *testing.T, path, beside string)
}{
	{"written in place", "two", nil, func(t *testing.T, path, _ string) { put(t, path, "two") }},
	{"appended to", "onemore", nil, func(t *testing.T, path, _ string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("more")
		must(t, err)
		must(t, f.Close())
	}},
	{"replaced by renaming", "two", nil, func(t *testing.T, path, beside string) {
		put(t, beside+"/new", "two")
		must(t, os.Rename(beside+"/new", path))
	}},
	{"moved away and written anew", "two", nil, func(t *testing.T, path, beside string) {
		must(t, os.Rename(path, beside+"/backup"))
		put(t, path, "two")
	}},
	{"removed", "", nil, func(t *testing.T, path, _ string) { must(t, os.Remove(path)) }},
	{"created", "one", func(*testing.T, string, string) {}, func(t *testing.T, path, _ string) { put(t, path, "one") }},
	{"its folder comes", "one", func(t *testing.T, path, _ string) {
		must(t, os.Remove(filepath.Dir(path)))
	}, func(t *testing.T, path, _ string) { put(t, path, "one") }},
	{"its folder goes", "", nil, func(t *testing.T, path, _ string) { must(t, os.RemoveAll(filepath.Dir(path))) }},
	{"its folder is another", "two", nil, func(t *testing.T, path, beside string) {
		put(t, beside+"/new/mcp.json", "two")
		must(t, os.Rename(filepath.Dir(path), beside+"/old"))
		must(t, os.Rename(beside+"/new", filepath.Dir(path)))
	}},
	{"the target of a link is written", "two", func(t *testing.T, path, beside string) {
		put(t, beside+"/far/file", "one")
		must(t, os.Symlink(beside+"/far/file", path))
	}, func(t *testing.T, path, beside string) { put(t, beside+"/far/file", "two") }},
	{"the target of a link is replaced", "two", func(t *testing.T, path, beside string) {
		put(t, beside+"/far/file", "one")
		must(t, os.Symlink(beside+"/far/file", path))
	}, func(t *testing.T, path, beside string) {
		put(t, beside+"/new", "two")
		must(t, os.Rename(beside+"/new", beside+"/far/file"))
	}},
	{"a link leads elsewhere", "two", func(t *testing.T, path, beside string) {
		put(t, beside+"/one", "one")
		must(t, os.Symlink(beside+"/one", path))
	}, func(t *testing.T, path, beside string) {
		put(t, beside+"/two", "two")
		must(t, os.Symlink(beside+"/two", beside+"/link"))
		must(t, os.Rename(beside+"/link", path))
	}},
	{"a volume of Kubernetes", "two", kubernetes, func(t *testing.T, path, _ string) { nextVolume(t, path, "..2", "two") }},
}

// kubernetes makes path as a volume of a config map is made.
func kubernetes(t *testing.T, path, _ string) {
	dir := filepath.Dir(path)
	put(t, dir+"/..1/mcp.json", "one")
	must(t, os.Symlink("..1", dir+"/..data"))
	must(t, os.Symlink("..data/mcp.json", path))
}

// nextVolume changes such a volume as the kubelet does.
func nextVolume(t *testing.T, path, name, text string) {
	t.Helper()
	dir := filepath.Dir(path)
	put(t, filepath.Join(dir, name, "mcp.json"), text)
	before, err := os.Readlink(dir + "/..data")
	must(t, err)
	must(t, os.Symlink(name, dir+"/..data_tmp"))
	must(t, os.Rename(dir+"/..data_tmp", dir+"/..data"))
	must(t, os.RemoveAll(filepath.Join(dir, before)))
}

func TestWaysToChange(t *testing.T) {
	for name, opts := range map[string]*filewatch.Options{"notified": soon, "looking": looking} {
		for _, way := range ways {
			t.Run(name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				beside := t.TempDir()
				path := filepath.Join(beside, "conf", "mcp.json")
				must(t, os.Mkdir(filepath.Dir(path), 0o700))
				if way.before == nil {
					put(t, path, "one")
				} else {
					way.before(t, path, beside)
				}
				f := follow(t, opts, path)
				way.change(t, path, beside)
				f.loads(way.text)
				// The watch is as good as before.
				_ = os.RemoveAll(filepath.Dir(path))
				if way.text != "" {
					f.loads("")
				}
				put(t, path, "three")
				f.loads("three")
				put(t, path, "four")
				f.loads("four")
			})
		}
	}
}

// What was read between two changes, of which the second undid the first, is read again.
func TestBackAndForth(t *testing.T) {
	for name, opts := range map[string]*filewatch.Options{"notified": soon, "looking": looking} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mcp.json")
			put(t, path, "one")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			read := ""
			n := 0
			for range filewatch.Files([]string{path}, opts)(ctx) {
				if n++; n == 1 {
					put(t, path, "two")
				}
				read = content(path)
				if n == 1 {
					put(t, path, "one")
					must(t, os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)))
				} else {
					cancel()
				}
			}
			if read != "one" {
				t.Errorf("the consumer has read %q", read)
			}
		})
	}
}

func TestVolumeChangesAgainAndAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	kubernetes(t, path, "")
	f := follow(t, soon, path)
	for _, name := range []string{"..2", "..3", "..4"} {
		nextVolume(t, path, name, name)
		f.loads(name)
	}
}

// What changes nothing is not told, unless it happens just when a consumer is reading.
func TestNoChange(t *testing.T) {
	for name, opts := range map[string]*filewatch.Options{"notified": soon, "looking": looking} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, other := dir+"/mcp.json", dir+"/other.json"
			put(t, path, "one")
			put(t, other, "one")
			f := follow(t, opts, other, path)
			for i := range 50 {
				put(t, path, "one")
				must(t, os.Chtimes(path, time.Unix(int64(i), 0), time.Unix(int64(i), 0)))
				put(t, dir+"/neighbour", fmt.Sprint(i))
				put(t, dir+"/.mcp.json.swp", fmt.Sprint(i))
				put(t, other, fmt.Sprint(i))
				if changed := <-f.next; len(changed.paths) == 1 && changed.paths[0] == other {
					return
				}
			}
			t.Error("what has not changed is told each time")
		})
	}
}

// What is written piece by piece is told once, when it is whole.
func TestPieces(t *testing.T) {
	t.Parallel()
	for !toldInOnePiece(t) {
		t.Log("the machine has stalled, and left the files alone")
	}
}

// toldInOnePiece reports whether the writing took less than the quiet time, without which
// it says nothing.
func toldInOnePiece(t *testing.T) bool {
	const quiet = time.Second
	path := filepath.Join(t.TempDir(), "mcp.json")
	other := filepath.Join(t.TempDir(), "other.json")
	put(t, path, "one")
	f := follow(t, &filewatch.Options{Quiet: quiet, Poll: -1}, path, other)
	began := time.Now()
	file, err := os.Create(path)
	must(t, err)
	for range 200 {
		_, err := file.WriteString("a piece\n")
		must(t, err)
	}
	must(t, file.Close())
	put(t, other, "two") // within the quiet time: told together
	if time.Since(began) >= quiet {
		return false
	}
	f.tells(path, other)
	put(t, path, "last")
	f.tells(path) // and nothing between
	return true
}

// A file that is never left alone is told of all the same.
func TestNeverQuiet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	put(t, path, "one")
	f := follow(t, &filewatch.Options{Quiet: 100 * time.Millisecond, Poll: -1}, path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			_ = os.WriteFile(path, make([]byte, i%1000+10), 0o600)
		}
	}()
	f.tells(path)
	cancel()
	<-done
}

// What happens while the consumer is busy is told when it asks again.
func TestSlowConsumer(t *testing.T) {
	dir := t.TempDir()
	one, two := dir+"/1", dir+"/2"
	put(t, one, "one")
	neighbours := []string{dir + "/3", dir + "/4"}
	put(t, neighbours[0], "")
	put(t, neighbours[1], "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var told [][]string
	for changed := range filewatch.Files([]string{one, two}, soon)(ctx) {
		told = append(told, changed)
		switch len(told) {
		case 1:
			put(t, one, "two")
			put(t, two, "two")
		case 2:
			for range 20_000 { // more events than the queue of the system holds
				must(t, os.Chmod(neighbours[0], 0o600))
				must(t, os.Chmod(neighbours[1], 0o600))
			}
			put(t, two, "three")
		case 3:
			time.AfterFunc(0, func() { put(t, two, "four") }) // when nobody is busy
		case 4:
			cancel()
		}
	}
	if len(told) != 4 || len(told[1]) != 2 || len(told[2]) != 1 || told[2][0] != two {
		t.Errorf("told of %q", told)
	}
}

// What is no file is not waited for.
func TestNoFiles(t *testing.T) {
	dir := t.TempDir()
	loop := dir + "/loop"
	must(t, os.Symlink(loop, loop))
	folder := dir + "/folder"
	must(t, os.Mkdir(folder, 0o700))
	good := dir + "/good"
	f := follow(t, soon, loop, folder, good)
	put(t, good, "one")
	f.hears(good)
	must(t, os.Remove(loop))
	must(t, os.Remove(folder))
	put(t, loop, "one")
	put(t, folder, "one")
	f.hears(loop, folder)
}

// Ranges are of their own, and a sequence can be ranged over twice.
func TestRanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	put(t, path, "one")
	files := filewatch.Files([]string{path}, soon)
	for range 2 {
		for changed := range files(t.Context()) {
			if len(changed) != 1 || changed[0] != path {
				t.Errorf("told of %q", changed)
			}
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for changed := range files(ctx) {
		t.Errorf("told of %q after the end", changed)
	}
	for changed := range filewatch.Files(nil, soon)(canceledSoon(t)) {
		t.Errorf("told of %q of no files", changed)
	}
}

func canceledSoon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A path is that of the folder in which the program was when it was given.
func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "mcp.json", "one")
	files := filewatch.Files([]string{"mcp.json"}, soon)
	t.Chdir(t.TempDir())
	n := 0
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for changed := range files(ctx) {
		if changed[0] != "mcp.json" {
			t.Errorf("told of %q", changed)
		}
		if n++; n == 2 {
			break
		}
		put(t, dir+"/mcp.json", "two")
	}
	if n != 2 {
		t.Error("not told")
	}
}
