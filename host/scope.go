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

// storeOptions are those by which a record of the host's store is read once more: they
// say its scope before anybody is asked for a secret of it. The names are those that it
// has and had.
func (h *Host) storeOptions(names ...string) *config.Options {
	var o config.Options
	if h.opts.Config != nil {
		o = *h.opts.Config
	}
	file := record.StoreFile
	if store, ok := h.opts.Store.(interface{ Path() string }); ok {
		file = store.Path()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		if known := h.scopes[scopeKey(file, name)]; known != "" && !o.Scope.NeedsApproval() {
			o.Scope = known
		}
	}
	return &o
}
