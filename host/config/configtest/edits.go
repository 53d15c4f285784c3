package configtest

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
)

// EditFaults changes a config file and changes it back, and returns what did not leave it
// byte for byte as it was, one line each: a server is added and removed ("add: ..."); each
// server that can be used gets a variable or header that goes again ("env: NAME: ..."),
// and is switched off, on and off again, or the other way round ("off: NAME: ..."). A file
// that cannot be read has no faults. Of a file in another form, which is not 0, it is one of
// the servers, another one for each form.
func EditFaults(t testing.TB, filename string, data []byte, opts *config.Options, form int) (faults []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(filename))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
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
		if err := f.Add(&record.Record{Name: "added by the test", Command: "x"}); err != nil {
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
			check("env: "+s.Title, func(f *edit.File) error { return addsAndRemoves(f, s.Title) })
			check("off: "+s.Title, func(f *edit.File) error { return switches(f, s.Title) })
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

// addsAndRemoves gives a server one more variable or header, and takes it away.
func addsAndRemoves(f *edit.File, name string) error {
	start := f.Bytes()
	r, err := f.Record(name)
	if err != nil {
		return err
	}
	more, back := &record.Patch{}, &record.Patch{}
	one := map[string]config.Secret{"ADDED": "1"}
	if r.URL == "" {
		maps.Copy(one, r.Env)
		more.Env, back.Env = record.Some(one), record.Some(r.Env)
	} else {
		maps.Copy(one, r.Headers)
		more.Headers, back.Headers = record.Some(one), record.Some(r.Headers)
	}
	if err := f.Set(name, more); err != nil {
		return err
	}
	return sameBytes(f.Set(name, back), f, start)
}

// switches switches a server off, on and off again, or the other way round.
func switches(f *edit.File, name string) error {
	start := f.Bytes()
	r, err := f.Record(name)
	if err != nil {
		return err
	}
	turn := func(off bool) error { return f.Set(name, &record.Patch{Disabled: record.Some(off)}) }
	if err := turn(!r.Disabled); err != nil {
		return err
	}
	turned := f.Bytes()
	if err := sameBytes(turn(r.Disabled), f, start); err != nil {
		return err
	}
	return sameBytes(turn(!r.Disabled), f, turned)
}
