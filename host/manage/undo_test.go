package manage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// undo takes back the last change, and fails the test if that has another error than wanted.
func undo(t *testing.T, m *manage.Manager, want record.Code) {
	t.Helper()
	c, ok := m.LastChange()
	if !ok {
		t.Fatal("got no last change, want one")
	}
	if _, err := m.Undo(watchdog(t), c); (err != nil || want != "") && !isCode(err, want) {
		t.Errorf("undo: got %v, want %q", err, want)
	}
}

// shown returns the records of a manager.
func shown(t *testing.T, m *manage.Manager) string {
	t.Helper()
	all, err := m.Servers(watchdog(t))
	if err != nil {
		t.Fatal(err)
	}
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
	if _, ok := m.LastChange(); ok {
		t.Error("got a last change before any, want none")
	}
	if _, err := m.Update(watchdog(t), "a", patch(t, `{"description": "one"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Update(watchdog(t), "a", patch(t, `{"description": "one"}`)); err != nil { // which changes nothing
		t.Fatal(err)
	}
	if _, err := m.Update(watchdog(t), "a", patch(t, `{"name": "b", "env": {}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Remove(watchdog(t), "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Add(watchdog(t), &record.Record{Name: "new", Command: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", `b "one" false; `, `a "one" false; `, before} {
		undo(t, m, "")
		if got := shown(t, m); got != want {
			t.Errorf("undone: got %s, want %s", got, want)
		}
	}
	if _, ok := m.LastChange(); ok {
		t.Error("got a last change after all were undone, want none")
	}
	if got := names(m.Host()); got != "a__echo" {
		t.Errorf("tools: got %s, want a__echo", got)
	}
	is, err := m.Host().Inspect("a")
	if err != nil {
		t.Fatal(err)
	}
	if got := is.Entry.Env["KEY"].Reveal(); got != managedSecret {
		t.Errorf("KEY: got %q, want the secret of before", got)
	}
}

// What another process has changed is not undone, and the change before it can be.
func TestUndoOfWhatIsNot(t *testing.T) {
	store := record.NewMemoryStore(&record.Record{Name: "a", Command: "x"}, &record.Record{Name: "b", Command: "x"})
	m := openStore(t, store, fakes())
	for _, name := range []string{"b", "a"} {
		if _, err := m.Update(watchdog(t), name, patch(t, `{"description": "here"}`)); err != nil {
			t.Fatal(err)
		}
	}
	stale, _ := m.LastChange()
	if stale.Before.Description != "" || stale.After.Description != "here" {
		t.Errorf("last change: got %v and %v, want that of the description", stale.Before, stale.After)
	}
	if _, _, err := record.Update(watchdog(t), store, "a", patch(t, `{"description": "elsewhere"}`)); err != nil {
		t.Fatal(err)
	}
	undo(t, m, record.CodeConflict)
	if _, err := m.Undo(watchdog(t), stale); !isCode(err, record.CodeConflict) {
		t.Errorf("undo once more: got %v, want a conflict", err)
	}
	undo(t, m, "")
	if got, want := shown(t, m), `a "elsewhere" false; b "" false; `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	if _, err := m.Add(watchdog(t), &record.Record{Name: "own", Command: "x", Builtin: true}); err != nil {
		t.Fatal(err)
	}
	undo(t, m, record.CodeBuiltinReadOnly)
	if _, err := m.Update(watchdog(t), "b", patch(t, `{"name": "c"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Add(watchdog(t), store, &record.Record{Name: "b", Command: "x"}); err != nil {
		t.Fatal(err)
	}
	undo(t, m, record.CodeNameTaken)
}

// The newest 50 changes can be undone.
func TestHistoryIsBounded(t *testing.T) {
	m := openStore(t, record.NewMemoryStore(&record.Record{Name: "a", Command: "x", Disabled: true}), fakes())
	for i := range 52 {
		if _, err := m.Update(watchdog(t), "a", patch(t, fmt.Sprintf(`{"description": "%d"}`, i))); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		undo(t, m, "")
	}
	if _, ok := m.LastChange(); ok {
		t.Error("got a last change after 50 were undone, want none")
	}
	if got, want := shown(t, m), `a "1" true; `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Of two who undo a change at the same time one does it.
func TestUndoAtOnce(t *testing.T) {
	m := openStore(t, record.NewMemoryStore(&record.Record{Name: "a", Command: "x", Disabled: true}), fakes())
	for _, text := range []string{"one", "two"} {
		if _, err := m.Update(watchdog(t), "a", patch(t, `{"description": "`+text+`"}`)); err != nil {
			t.Fatal(err)
		}
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
	if (first == nil) == (second == nil) || !isCode(errors.Join(first, second), record.CodeConflict) {
		t.Errorf("got %v and %v, want one conflict", first, second)
	}
	if got, want := shown(t, m), `a "one" true; `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
