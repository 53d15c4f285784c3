package config_test

import (
	"bytes"
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
	check := func(what string, do func(*edit.File) error) {
		err := edit.Change(t.Context(), path, opts, func(f *edit.File) error {
			if err := do(f); err != nil {
				return err
			}
			return errChecked // and nothing is written
		})
		if !errors.Is(err, errChecked) {
			faults = append(faults, fmt.Sprintf("%s: %v", what, err))
		}
	}
	c, err := config.Parse(t.Context(), path, data, opts)
	var none *config.NoServersError
	if err != nil && !errors.As(err, &none) {
		return nil
	}
	check("add", func(f *edit.File) error {
		start := f.Bytes()
		if err := f.Add(&config.Server{Name: "added by the test", Command: "x"}); err != nil {
			return err
		}
		return sameBytes(f.Remove("added by the test"), f, start)
	})
	if c == nil {
		return faults
	}
	sound := slices.DeleteFunc(c.Servers, func(s *config.Server) bool { return s.Err != nil })
	for i, s := range sound {
		if form == 0 || i == (form+2)%len(sound) {
			check("env: "+s.Title, func(f *edit.File) error { return twice(f, s.Title, addsOne) })
			check("off: "+s.Title, func(f *edit.File) error { return twice(f, s.Title, switches) })
		}
	}
	return faults
}

var errChecked = errors.New("checked")

// sameBytes returns err, or how the text of a file differs from what it is to be.
func sameBytes(err error, f *edit.File, want []byte) error {
	if err == nil && !bytes.Equal(f.Bytes(), want) {
		return fmt.Errorf("got\n%s\nwant\n%s", f.Bytes(), want)
	}
	return err
}

// twice changes a server and changes it back, and again; patches returns the two changes.
func twice(f *edit.File, name string, patches func(r *config.Server) (there, back *record.Patch)) (err error) {
	for range 2 {
		start := f.Bytes()
		r, err1 := f.Record(name)
		if err1 != nil {
			return err1
		}
		was, _ := record.Encode(r)
		there, back := patches(r)
		if err := errors.Join(f.Set(name, there), f.Set(name, back)); err != nil {
			return err
		}
		if r, err = f.Record(name); err != nil {
			return err
		}
		if is, _ := record.Encode(r); !bytes.Equal(is, was) {
			return fmt.Errorf("got a server that says something else, %s, want %s", is, was)
		}
		err = sameBytes(nil, f, start)
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
