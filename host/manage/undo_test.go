package manage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// undo takes back the last change, and fails the test if that has another error than wanted.
func undo(t *testing.T, m *manage.Manager, want record.Code) {
	t.Helper()
	c, ok := m.LastChange()
	assert.True(t, ok, "no last change, want one")
	_, err := m.Undo(watchdog(t), c)
	assert.True(t, err == nil && want == "" || isCode(err, want), "undo: %v is %q", err, want)
}

// shown returns the records of a manager.
func shown(t *testing.T, m *manage.Manager) string {
	t.Helper()
	all := assert.Value(m.Servers(watchdog(t)))(t)
	text := ""
	for _, s := range all {
		text += fmt.Sprintf("%s %q %t; ", s.Record.Name, s.Record.Description, s.Record.Disabled)
	}
	return text
}

// Changes are undone one after the other, in a file and elsewhere, also those of one record.
func TestUndo(t *testing.T) {
	opts := fakes()
	opts.Host.StateDir = t.TempDir() // where what was removed is kept
	m := open(t, write(t, "a", `{"command": "x", "env": {"KEY": "`+managedSecret+`"}}`), opts)
	before := shown(t, m)
	_, ok := m.LastChange()
	assert.False(t, ok, "a last change before any, want none")
	assert.Value(m.Update(watchdog(t), "a", patch(t, `{"description": "one"}`)))(t)
	if _, err := m.Update(watchdog(t), "a", patch(t, `{"description": "one"}`)); err != nil { // which changes nothing
		t.Fatal(err)
	}
	assert.Value(m.Update(watchdog(t), "a", patch(t, `{"name": "b", "env": {}}`)))(t)
	assert.Value(m.Remove(watchdog(t), "b"))(t)
	assert.Value(m.Add(watchdog(t), &config.Server{Name: "new", Command: "x"}))(t)
	for _, want := range []string{"", `b "one" false; `, `a "one" false; `, before} {
		undo(t, m, "")
		assert.Equal(t, shown(t, m), want, "undone")
	}
	_, ok = m.LastChange()
	assert.False(t, ok, "a last change after all were undone, want none")
	assert.Equal(t, names(m.Host()), "a__echo", "tools")
	assert.Equal(t, assert.Value(m.Host().Inspect("a"))(t).Entry.Env["KEY"].Reveal(), managedSecret, "KEY")
}

// What another process has changed is not undone, and the change before it can be.
func TestUndoOfWhatIsNot(t *testing.T) {
	store := record.NewMemoryStore(&config.Server{Name: "a", Command: "x"}, &config.Server{Name: "b", Command: "x"})
	m := openStore(t, store, fakes())
	for _, name := range []string{"b", "a"} {
		assert.Value(m.Update(watchdog(t), name, patch(t, `{"description": "here"}`)))(t)
	}
	stale, _ := m.LastChange()
	assert.Equal(t, stale.Before.Description, "", "last change")
	assert.Equal(t, stale.After.Description, "here", "last change")
	_, _, err := record.Update(watchdog(t), store, "a", patch(t, `{"description": "elsewhere"}`))
	assert.OK(t, err)
	undo(t, m, record.CodeConflict)
	assert.True(t, isCode(assert.Err(m.Undo(watchdog(t), stale)), record.CodeConflict), "undo once more")
	undo(t, m, "")
	assert.Equal(t, shown(t, m), `a "elsewhere" false; b "" false; `)

	assert.Value(m.Add(watchdog(t), &config.Server{Name: "own", Command: "x", Builtin: true}))(t)
	undo(t, m, record.CodeBuiltinReadOnly)
	assert.Value(m.Update(watchdog(t), "b", patch(t, `{"name": "c"}`)))(t)
	assert.Value(record.Add(watchdog(t), store, &config.Server{Name: "b", Command: "x"}))(t)
	undo(t, m, record.CodeNameTaken)
}

// The newest 50 changes can be undone.
func TestHistoryIsBounded(t *testing.T) {
	m := openStore(t, record.NewMemoryStore(&config.Server{Name: "a", Command: "x", Disabled: true}), fakes())
	for i := range 52 {
		assert.Value(m.Update(watchdog(t), "a", patch(t, fmt.Sprintf(`{"description": "%d"}`, i))))(t)
	}
	for range 50 {
		undo(t, m, "")
	}
	_, ok := m.LastChange()
	assert.False(t, ok, "a last change after 50 were undone, want none")
	assert.Equal(t, shown(t, m), `a "1" true; `)
}

// Of two who undo a change at the same time one does it.
func TestUndoAtOnce(t *testing.T) {
	m := openStore(t, record.NewMemoryStore(&config.Server{Name: "a", Command: "x", Disabled: true}), fakes())
	for _, text := range []string{"one", "two"} {
		assert.Value(m.Update(watchdog(t), "a", patch(t, `{"description": "`+text+`"}`)))(t)
	}
	last, _ := m.LastChange()
	errs := make(chan error, 2)
	for range cap(errs) {
		go func() {
			_, err := m.Undo(watchdog(t), last)
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	assert.True(t, (first == nil) != (second == nil), "one of %v and %v is an error", first, second)
	assert.True(t, isCode(errors.Join(first, second), record.CodeConflict), "%v or %v is a conflict", first, second)
	assert.Equal(t, shown(t, m), `a "one" true; `)
}
