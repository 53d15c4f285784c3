package filewatch

import (
	"os"
	"path/filepath"
	"strings"
)

const (
	// maxLinks bounds the symbolic links of one path, as operating systems do.
	maxLinks = 40
	// maxCovers bounds how often the folders are looked for, if others change them
	// meanwhile.
	maxCovers = 4
)

// A folder is one that the notifier watches.
type folder struct{ info os.FileInfo }

// cover has the notifier watch what the paths lead through now: the folder of each
// file, those of all symbolic links on the way, and the last folder there is of a
// way that ends.
func (w *watch) cover() {
	if w.notifier == nil {
		return
	}
	for range maxCovers {
		wanted := map[string]bool{}
		w.names = map[string]bool{}
		for _, path := range w.paths {
			walkPath(path, func(dir, name string) {
				wanted[dir] = true
				w.names[dir] = true // the folder itself goes
				w.names[name] = true
			})
		}
		if !w.watchFolders(wanted) {
			return
		}
	}
}

// watchFolders watches the wanted folders and no others. It reports whether one was
// added: what changed before is not told by anybody.
func (w *watch) watchFolders(wanted map[string]bool) (added bool) {
	watched := map[string]bool{}
	for _, dir := range w.notifier.WatchList() {
		watched[dir] = true
	}
	for dir, was := range w.folders {
		info, err := os.Stat(dir)
		if wanted[dir] && watched[dir] && err == nil && os.SameFile(was.info, info) {
			continue
		}
		if watched[dir] {
			_ = w.notifier.Remove(dir) // it may have gone meanwhile
		}
		delete(w.folders, dir)
	}
	for dir := range wanted {
		if _, ok := w.folders[dir]; ok {
			continue
		}
		info, err := os.Stat(dir)
		if err == nil {
			err = w.notifier.Add(dir)
		}
		if err != nil {
			if !w.refused[dir] && !os.IsNotExist(err) {
				w.refused[dir] = true
				w.opts.Logger.Warn("filewatch: a folder cannot be watched; its files are looked at now and then", "folder", dir, "every", w.opts.Poll, "error", err)
			}
			continue
		}
		delete(w.refused, dir)
		w.folders[dir] = folder{info}
		added = true
	}
	return added
}

// walkPath calls visit for the end of the path and for each symbolic link on the way
// there, with its folder. Where the way ends too early, it is the first part that is
// missing.
func walkPath(path string, visit func(dir, name string)) {
	volume := filepath.VolumeName(path)
	separator := string(filepath.Separator)
	at := volume + separator
	left := parts(path[len(volume):])
	for links := 0; len(left) > 0; {
		name := filepath.Join(at, left[0])
		left = left[1:]
		info, err := os.Lstat(name)
		switch {
		case err != nil || len(left) == 0 && info.Mode()&os.ModeSymlink == 0:
			visit(filepath.Dir(name), name)
			return
		case info.Mode()&os.ModeSymlink == 0:
			at = name
			continue
		}
		visit(filepath.Dir(name), name)
		target, err := os.Readlink(name)
		if links++; err != nil || links > maxLinks {
			return
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			at, target = volume+separator, target[len(volume):]
		}
		left = append(parts(target), left...)
	}
}

// parts returns the names in a path, ".." included.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}
