package host

import (
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// scopes are those of the files and stores that a host was told are of a scope that
// has to be allowed, by scopeKey. What was once said of a file counts for the life of the
// host: who reads it again and does not say it, because of an edit or of a file that was
// replaced, starts nothing by that.
type scopes map[string]config.Scope

// scopeKey names the file of an entry, or of what is kept in no file the entry.
func scopeKey(file, name string) string {
	if file == record.StoreFile || file == "" {
		return file + "\x00" + name
	}
	if path, err := filepath.Abs(file); err == nil {
		return path
	}
	return file
}

// keep returns the entry in the stricter one of its scope and that which was known, and
// keeps that.
func (s scopes) keep(e *config.Server) *config.Server {
	key := scopeKey(e.Source.File, e.Name)
	known := s[key]
	switch {
	case e.Source.Scope.NeedsApproval():
		s[key] = e.Source.Scope
	case known != "":
		strict := *e
		strict.Source.Scope = known
		return &strict
	}
	return e
}

// KnownScope returns the scope, one that has to be allowed, of which the host was told that
// entries of a file are; empty if it was told of none. Of entries that are kept in no file
// each has its own, by its name. Who reads the file again says the scope to config, so that
// no secret is asked for before it is allowed.
func (h *Host) KnownScope(file, name string) config.Scope {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.scopes[scopeKey(file, name)]
}
