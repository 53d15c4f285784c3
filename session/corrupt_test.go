package session

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Places in a sealed record, and the record of the keys; see package seal.
const (
	atVersion  = 4
	atKey      = 5
	atSealed   = 46
	keysRecord = "store.keys"
)

// spoil alters the record of a session in the driver.
func (w *world) spoil(d *brokenDisk, key Key, at int) {
	w.t.Helper()
	r := assert.Value(d.Load(w.ctx, recordName(key), ""))(w.t)
	data := bytes.Clone(r.Data)
	data[at] ^= 1
	assert.Value(d.Save(w.ctx, recordName(key), data, r.Revision))(w.t)
}

// A record that nobody can read does not keep its user from logging in.
func TestLoginReplacesACorruptSession(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	bob := Key{User: "bob", Server: "s"}
	w.mustLogIn(m, alice)
	w.mustLogIn(m, bob)
	_ = m.Close()
	w.spoil(disk, alice, atSealed)
	m = w.manager(nil)
	status := assert.Value(m.Status(w.ctx, alice))(t)
	assert.Equal(t, [...]any{status.Phase, status.Reason == ""}, [...]any{LoggedOut, false}, "status")
	required := w.mustNeedLogin(m, alice)
	assert.Equal(t, [...]any{required.URL == "", required.Reason == ""}, [...]any{false, false}, "required")
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	w.mustCall(m, bob)
}

// What another version of the program has written is left to that.
func TestSessionOfAnotherFormatIsKept(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	_ = m.Close()
	w.spoil(disk, alice, atVersion)
	m = w.manager(nil)
	assert.As[*seal.CorruptError](t, errOf(w.call(w.ctx, m, alice)))
	assert.As[*seal.CorruptError](t, errOf(m.Login(w.ctx, alice)))
	w.spoil(disk, alice, atVersion)
	w.mustCall(m, alice)
}

func TestForgetTakesWhatCannotBeRead(t *testing.T) {
	for name, at := range map[string]int{"altered": atSealed, "another format": atVersion, "another key": atKey} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			disk := w.breakable()
			m := w.manager(nil)
			w.mustLogIn(m, alice)
			w.spoil(disk, alice, at)
			assert.OK(t, m.Forget(w.ctx, alice))
			assert.Is(t, errOf(disk.Load(w.ctx, recordName(alice), "")), storage.ErrNotFound)
			w.mustLogIn(m, alice)
		})
	}
}

// What is not of one user stays.
func TestForgetLeavesNothingOfTheSession(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	required := w.mustNeedLogin(m, alice)
	callback := assert.Value(w.as.Approve(w.ctx, required.URL))(t)
	assert.OK(t, m.Forget(w.ctx, alice))
	var names []string
	for name, err := range disk.Names(w.ctx, "") {
		assert.OK(t, err)
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{registrationName(w.config, w.as.Issuer, callbackURL), keysRecord}; !slices.Equal(names, want) {
		t.Errorf("records that are left: got %q, want %q", names, want)
	}
	assert.As[*auth.StateError](t, errOf(m.Complete(w.ctx, callback, nil)))
}
