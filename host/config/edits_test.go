package config_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// editFaults changes a config file and changes it back, and returns what did not leave it
// byte for byte as it was, one line each: a server is added and removed ("add: ..."); each
// server that can be used gets a variable or header that goes again ("env: NAME: ..."),
// and is switched off and on, or the other way round ("off: NAME: ..."). Each of the latter
// two is done twice: the first time an object that is empty may go, and a key that says
// nothing new may come. A file
// that cannot be read has no faults. Of a file in another form, which is not 0, it is one of
// the servers, another one for each form.
func editFaults(t testing.TB, filename string, data []byte, opts *config.Options, form int) (faults []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(filename))
	assert.OK(t, os.WriteFile(path, data, 0o600))
	check := func(what string, do func(record.Store) error) {
		assert.OK(t, os.WriteFile(path, data, 0o600))
		if err := do(edit.OpenFileStore(path, opts)); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", what, err))
		}
	}
	c, err := config.Parse(t.Context(), path, data, opts)
	var none *config.NoServersError
	if err != nil && !errors.As(err, &none) {
		return nil
	}
	check("add", func(s record.Store) error {
		if _, err := record.Add(t.Context(), s, &config.Server{Name: "added by the test", Command: "x"}); err != nil {
			return err
		}
		_, err := record.Remove(t.Context(), s, "added by the test")
		return sameBytes(err, s, data)
	})
	if c == nil {
		return faults
	}
	titles := map[string]int{}
	for _, s := range c.Servers {
		titles[s.Title]++
	}
	sound := slices.DeleteFunc(c.Servers, func(s *config.Server) bool { return s.Err != nil || titles[s.Title] > 1 })
	for i, s := range sound {
		if form == 0 || i == (form+2)%len(sound) {
			check("env: "+s.Title, func(f record.Store) error { return twice(t.Context(), f, s.Title, addsOne) })
			check("off: "+s.Title, func(f record.Store) error { return twice(t.Context(), f, s.Title, switches) })
		}
	}
	return faults
}

// sameBytes returns err, or how the text of a file differs from what it is to be.
func sameBytes(err error, s record.Store, want []byte) error {
	if got, readErr := os.ReadFile(s.(interface{ Path() string }).Path()); err == nil && !bytes.Equal(got, want) {
		return fmt.Errorf("got\n%s\nwant\n%s, %w", got, want, readErr)
	}
	return err
}

// twice changes a server and changes it back, and again; patches returns the two changes.
func twice(ctx context.Context, s record.Store, name string, patches func(r *config.Server) (there, back *record.Patch)) (err error) {
	for range 2 {
		start, _ := os.ReadFile(s.(interface{ Path() string }).Path())
		before, err1 := record.Find(ctx, s, name)
		there, back := patches(record.Of(before.Record))
		_, _, err2 := record.Update(ctx, s, name, there)
		_, _, err3 := record.Update(ctx, s, name, back)
		after, err4 := record.Find(ctx, s, name)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return err
		}
		if before.Revision != after.Revision {
			return fmt.Errorf("got a server that says something else, %s, want %s", after.Record, before.Record)
		}
		err = sameBytes(nil, s, start)
	}
	return err
}

// addsOne gives a server one more variable or header, and takes it away.
func addsOne(r *config.Server) (there, back *record.Patch) {
	one := map[string]config.Secret{"ADDED": "1"}
	if r.URL == "" {
		maps.Copy(one, r.Env)
		return &record.Patch{Keys: []string{"env"}, Values: config.Server{Env: one}}, &record.Patch{Keys: []string{"env"}, Values: config.Server{Env: r.Env}}
	}
	maps.Copy(one, r.Headers)
	return &record.Patch{Keys: []string{"headers"}, Values: config.Server{Headers: one}}, &record.Patch{Keys: []string{"headers"}, Values: config.Server{Headers: r.Headers}}
}

func switches(r *config.Server) (there, back *record.Patch) {
	return record.Switch(r.Disabled), record.Switch(!r.Disabled)
}
