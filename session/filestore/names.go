package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Names implements storage.Store. It holds the names of one of the 256 folders at
// a time, and no file is open while it yields.
func (f *folder) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range 256 {
			names, err := f.namesIn(ctx, fmt.Sprintf("%02x", i), prefix)
			if err != nil {
				yield("", f.fail("list", "", err))
				return
			}
			for _, name := range names {
				if err := ctx.Err(); err != nil {
					yield("", err)
					return
				}
				if !yield(name, nil) {
					return
				}
			}
		}
	}
}

// namesIn returns the names in a folder of records.
func (f *folder) namesIn(ctx context.Context, dir, prefix string) (names []string, err error) {
	if err := f.begin(ctx, "any"); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(f.root.FS(), path.Join(recordsDir, dir))
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), recordPrefix)
		if ok && shard(name) == dir && strings.HasPrefix(name, prefix) && storage.CheckName(name) == nil {
			names = append(names, name)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// lookEvery is how often the folders of records are looked at while they are watched. Tests
// look more often.
var lookEvery = time.Second

const (
	// unsettled is how long after a change the time of a folder is not trusted: a second change might
	// have the same time. Some file systems count in whole seconds, or every other one.
	unsettled = 2 * time.Second
)

// Watch implements storage.Watcher. It cannot tell which records have changed.
func (f *folder) Watch(ctx context.Context, _ string) iter.Seq2[string, error] {
	return feed.Changes(ctx, f.stamps, func(ctx context.Context) error { return feed.Sleep(ctx, lookEvery) })
}

// stamps returns what the folders of records look like from outside, under the name of all
// records. It never looks the same while a folder has just changed.
func (f *folder) stamps(ctx context.Context) (map[string]string, error) {
	var all strings.Builder
	now := time.Now()
	for i := range 256 {
		if err := f.begin(ctx, "any"); err != nil {
			return nil, err
		}
		info, err := f.root.Lstat(path.Join(recordsDir, fmt.Sprintf("%02x", i)))
		if err != nil { // there is none yet
			continue
		}
		fmt.Fprint(&all, i, " ", info.ModTime().UnixNano(), "\n")
		if now.Sub(info.ModTime()) < unsettled {
			fmt.Fprint(&all, now.UnixNano(), "\n")
		}
	}
	return map[string]string{"": all.String()}, nil
}
