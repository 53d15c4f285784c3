package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/mcpbelt/mcpbelt/session/driver"
)

// hasOlder reports whether there are older states of a record. Without a current
// one, the process that moved that aside did not live to restore one of them:
// Delete removes the current one last.
func (f *folder) hasOlder(name string) bool {
	for state := 1; state < states; state++ {
		if _, err := f.root.Lstat(file(name, state)); err == nil {
			return true
		}
	}
	return false
}

// current returns a record, and restores it if it is damaged. The caller has
// locked its shard. The error is driver.ErrNotFound, driver.ErrDamaged or one of
// the file system.
func (f *folder) current(name string) (driver.Record, error) {
	damaged := false
	for state := range states {
		r, err := f.read(name, state)
		var hurt damage
		switch {
		case err == nil && state == 0:
			return r, nil
		case err == nil:
			return f.restore(name, state, r.Data)
		case errors.Is(err, fs.ErrNotExist):
		case errors.As(err, &hurt):
			if err := f.setAside(name, state, hurt); err != nil {
				return driver.Record{}, err
			}
			damaged = true
		default:
			return driver.Record{}, err
		}
	}
	if damaged {
		return driver.Record{}, fmt.Errorf("%w: %q", driver.ErrDamaged, name)
	}
	return driver.Record{}, notFound(name)
}

// setAside moves a damaged file to where it can be examined.
func (f *folder) setAside(name string, state int, problem damage) error {
	from := file(name, state)
	_, at := encode(name, nil, false) // a random text that no other file has
	to := path.Join(damagedDir, path.Base(from)+","+string(at))
	if err := f.root.Rename(from, to); err != nil {
		return err
	}
	f.log.Error("a session's file is damaged and was moved aside", "dir", f.dir,
		"record", name, "state", state, "problem", string(problem), "file", to)
	return errors.Join(syncFolder(f.root, damagedDir), syncFolder(f.root, path.Dir(from)))
}

// restore makes an older state the current one. It gets a revision of its own: who
// knows the older state by its revision does not know what came after it.
func (f *folder) restore(name string, state int, data []byte) (driver.Record, error) {
	raw, at := encode(name, data, true)
	tmp, err := f.writeTemp(raw)
	if err != nil {
		return driver.Record{}, err
	}
	to := file(name, 0)
	if err := f.root.Rename(tmp, to); err != nil {
		f.removeTemp(tmp)
		return driver.Record{}, err
	}
	f.log.Warn("an older state of a session was restored", "dir", f.dir, "record", name, "state", strconv.Itoa(state))
	return driver.Record{Data: data, Revision: at, Restored: true}, syncFolder(f.root, path.Dir(to))
}
