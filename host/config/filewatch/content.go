package filewatch

import (
	"crypto/sha256"
	"io"
	"os"
	"slices"
	"time"
)

// maxRead bounds what is read of a file. Config files of more are an error to who
// loads them.
const maxRead = 16<<20 + 1

// A content tells one content of a file from another.
type content struct {
	info   os.FileInfo // nil: there is no such file
	sum    [sha256.Size]byte
	failed bool // there is one, and it cannot be read
}

// contentOf reads a file.
func contentOf(path string) content {
	info, err := os.Stat(path)
	if err != nil {
		return content{failed: !os.IsNotExist(err)}
	}
	p := content{info: info}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		p.failed = true
		return p
	}
	f, err := os.Open(path)
	if err != nil {
		p.failed = true
		return p
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(f, maxRead)); err != nil {
		p.failed = true
		return p
	}
	hash.Sum(p.sum[:0])
	return p
}

func (p content) same(other content) bool {
	return (p.info == nil) == (other.info == nil) && p.failed == other.failed && p.sum == other.sum
}

// compare returns the files that differ from what was told last, which they are
// from now on, and those of which it is not known what the consumer has read.
func (w *watch) compare() []int {
	var changed []int
	for i, path := range w.paths {
		now := contentOf(path)
		if w.unsure[i] || !now.same(w.contents[i]) {
			changed = append(changed, i)
		}
		w.contents[i], w.unsure[i] = now, false
	}
	return changed
}

// doubt finds out which files were touched while the consumer read them. What he read
// may be neither what they were before nor what they are now.
func (w *watch) doubt() {
	for i := range w.paths {
		w.unsure[i] = w.touched(i)
	}
}

// anyUnsure reports whether doubt has found one.
func (w *watch) anyUnsure() bool { return slices.Contains(w.unsure, true) }

// differs reports whether a look at the files shows that they may have changed.
func (w *watch) differs() bool {
	for i := range w.paths {
		if w.touched(i) {
			return true
		}
	}
	return false
}

// touched reports whether a look at a file shows that it may have changed.
func (w *watch) touched(i int) bool {
	info, err := os.Stat(w.paths[i])
	was := w.contents[i]
	if err != nil {
		return was.info != nil || was.failed == os.IsNotExist(err)
	}
	return was.info == nil || !os.SameFile(was.info, info) || was.info.Size() != info.Size() || !was.info.ModTime().Equal(info.ModTime())
}

// A size is what a look at a file shows.
type size struct {
	bytes int64 // -1: there is none
	at    time.Time
}

func (w *watch) sizes() []size {
	sizes := make([]size, len(w.paths))
	for i, path := range w.paths {
		sizes[i].bytes = -1
		if info, err := os.Stat(path); err == nil {
			sizes[i] = size{info.Size(), info.ModTime()}
		}
	}
	return sizes
}
