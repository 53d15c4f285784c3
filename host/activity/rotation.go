package activity

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rotatedTime is how the time stands in the name of a renamed file: names sort as
// times do.
const rotatedTime = "20060102T150405.000000000Z"

// A rotated is a file that was full and is renamed.
type rotated struct {
	path string
	at   time.Time // when it was renamed
}

// rotatedFiles returns the renamed files of a log file, the newest first. Others
// that are in the folder are not among them.
func rotatedFiles(path string) ([]rotated, error) {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	stem, ext := stemOf(path)
	var files []rotated
	for _, entry := range entries {
		name, ok := strings.CutPrefix(entry.Name(), stem+"-")
		if !ok {
			continue
		}
		if name, ok = strings.CutSuffix(name, ext); !ok {
			continue
		}
		at, err := time.Parse(rotatedTime, name)
		if err != nil || at.Format(rotatedTime) != name || !entry.Type().IsRegular() {
			continue
		}
		files = append(files, rotated{filepath.Join(folder, entry.Name()), at})
	}
	slices.SortFunc(files, func(a, b rotated) int { return cmp.Compare(b.path, a.path) })
	return files, nil
}

// stemOf divides the name of a log file: activity, .jsonl.
func stemOf(path string) (stem, ext string) {
	name := filepath.Base(path)
	ext = filepath.Ext(name)
	return strings.TrimSuffix(name, ext), ext
}

// rotate renames the file, and deletes renamed ones that are not to stay. If it
// cannot be renamed, as on Windows while somebody reads it, it grows: that is better
// than to lose events. It needs the lock.
func (f *File) rotate() {
	files, err := rotatedFiles(f.path)
	if err != nil {
		return
	}
	at := time.Now().UTC()
	if len(files) > 0 && !at.After(files[0].at) { // the clock was set back, or is coarse
		at = files[0].at.Add(1)
	}
	stem, ext := stemOf(f.path)
	full := filepath.Join(filepath.Dir(f.path), stem+"-"+at.Format(rotatedTime)+ext)
	if os.Rename(f.path, full) == nil {
		f.tidy()
	}
}

// tidy deletes renamed files that are not to stay. What cannot be deleted now is
// tried again the next time. It needs the lock.
func (f *File) tidy() {
	f.tidied = time.Now()
	files, err := rotatedFiles(f.path)
	if err != nil {
		return
	}
	var bytes int64
	for i, file := range files {
		if info, err := os.Stat(file.path); err == nil {
			bytes += info.Size()
		}
		o := &f.opts
		if o.KeepFiles > 0 && i >= o.KeepFiles || o.KeepBytes > 0 && bytes > o.KeepBytes ||
			o.KeepAge > 0 && time.Since(file.at) > o.KeepAge {
			_ = os.Remove(file.path)
		}
	}
}
