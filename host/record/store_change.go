package record

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// maxRetries bounds how often a change is tried again because another process was faster.
const maxRetries = 100

// Add validates a record and adds it to a store. Its name must not become that of
// another server. The error is of [*Error] values, or of the
// store.
func Add(ctx context.Context, store Store, r *config.Server) (Stored, error) {
	if err := Validate(r); err != nil {
		return Stored{}, err
	}
	r = Of(r)
	all, err := recordsOf(ctx, store)
	if err != nil {
		return Stored{}, err
	}
	if err := nameFree(all, r, ""); err != nil {
		return Stored{}, err
	}
	rev, err := store.Save(ctx, "", r, "")
	if err != nil {
		return Stored{}, err
	}
	if s, err := Find(ctx, store, r.Title); err == nil && s.Revision == rev {
		return s, nil
	}
	return Stored{Record: r, Revision: rev}, nil // another process has changed it already
}

// nameFree returns an error if a record other than the one called except becomes a
// server of the same name as r.
func nameFree(all []Stored, r *config.Server, except string) error {
	for _, s := range all {
		if s.Record.Title != except && s.Record.Name == r.Name {
			return &Error{Code: CodeNameTaken, Name: r.Title, Field: "name"}
		}
	}
	return nil
}

// Update applies a patch to the record of a store that has that name or ID, and returns
// what it was and what it is. If another process changes the record meanwhile the patch is
// applied to what that made of it, unless [Patch.Revision] says which one is meant. A
// patch that changes nothing saves nothing. The error is of [*Error] values, or of the
// store.
func Update(ctx context.Context, store Store, name string, p *Patch) (before, after Stored, err error) {
	for range maxRetries {
		before, after, err = updateOnce(ctx, store, name, p)
		if !errors.Is(err, &Error{Code: CodeConflict}) || p != nil && p.Revision != "" {
			break
		}
	}
	return before, after, err
}

func updateOnce(ctx context.Context, store Store, name string, p *Patch) (before, after Stored, err error) {
	all, err := recordsOf(ctx, store)
	if err != nil {
		return Stored{}, Stored{}, err
	}
	before, ok := recordOf(all, name)
	switch {
	case !ok:
		return Stored{}, Stored{}, &Error{Code: CodeNotFound, Name: name}
	case p != nil && p.Revision != "" && p.Revision != before.Revision:
		return before, Stored{}, &Error{Code: CodeConflict, Name: name}
	}
	next, err := p.Apply(before.Record)
	if err != nil {
		return before, Stored{}, err
	}
	if next.Title != before.Record.Title {
		if err := nameFree(all, next, before.Record.Title); err != nil {
			return before, Stored{}, err
		}
	}
	if before.Record.Hash() == next.Hash() {
		return before, before, nil
	}
	rev, err := store.Save(ctx, before.Record.Title, next, before.Revision)
	if err != nil {
		return before, Stored{}, err
	}
	after = before
	after.Record, after.Revision, after.Updated = next, rev, time.Now().UTC()
	return before, after, nil
}

// Remove removes the record of that name or ID from a store, and returns it. One
// that is Builtin stays: the error is of [CodeBuiltinReadOnly] then.
func Remove(ctx context.Context, store Store, name string) (removed Stored, err error) {
	for range maxRetries {
		removed, err = Find(ctx, store, name)
		switch {
		case err != nil:
			return Stored{}, err
		case removed.Record.Builtin:
			return Stored{}, &Error{Code: CodeBuiltinReadOnly, Name: name}
		}
		err = store.Delete(ctx, removed.Record.Title, removed.Revision)
		if err == nil {
			return removed, nil
		}
		if !errors.Is(err, &Error{Code: CodeConflict}) {
			break
		}
	}
	return Stored{}, err
}

// recordOf returns the record that has name as its ID, is called name or, if there is
// none, the one whose server is.
func recordOf(all []Stored, name string) (Stored, bool) {
	for _, is := range []func(Stored) bool{
		func(s Stored) bool { return strings.HasPrefix(name, "~") && s.ID == name }, // which no new record's name has
		func(s Stored) bool { return s.Record.Title == name },
		func(s Stored) bool { return s.Record.Name == name },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i], true
		}
	}
	return Stored{}, false
}

// Restore takes back that the record of an ID was deleted, and returns it. Its name
// must not become that of another server. The error is of
// [*Error] values, or of the store.
func Restore(ctx context.Context, store Store, id string) (Stored, error) {
	if store == nil {
		return Stored{}, errNoStore
	}
	deleted, err := store.Deleted(ctx)
	if err != nil {
		return Stored{}, err
	}
	i := slices.IndexFunc(deleted, func(s Stored) bool { return s.ID == id })
	if i < 0 {
		return Stored{}, &Error{Code: CodeNotFound, Name: id}
	}
	all, err := recordsOf(ctx, store)
	if err != nil {
		return Stored{}, err
	}
	if err := nameFree(all, deleted[i].Record, ""); err != nil {
		return Stored{}, err
	}
	if err := store.Restore(ctx, id); err != nil {
		return Stored{}, err
	}
	return Find(ctx, store, id)
}
