package edit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonedit"
)

// put makes the entry called title say what entry says, in our words, and be called
// newTitle. An empty title adds it. The draft changes only if all else stays the same
// and the result can be read back as wanted.
func (d *draft) put(title, newTitle string, entry json.RawMessage) error {
	said, err := d.content()
	if err != nil {
		return err
	}
	before := said.entries
	fail := func(key string, err error) error {
		return &editError{file: d.path, title: newTitle, key: key, err: err}
	}
	_, taken := before[newTitle]
	if taken = taken || slices.Contains(d.doc.Skipped, newTitle); taken && title != newTitle {
		return fail("", &record.Error{Code: record.CodeNameTaken, Name: newTitle})
	}
	s := &scribe{draft: d, title: newTitle, entry: membersOf(entry)}
	was := before[title]
	if title == "" {
		s.at, was = d.fresh(newTitle), nil // an entry of a list may have no name
	} else if s.at = d.find(title); s.at == nil {
		return fail("", &record.Error{Code: record.CodeNotFound, Name: title})
	}
	data, err := d.written(s, was)
	if err != nil {
		if edit, ok := errors.AsType[*editError](err); ok {
			edit.title = newTitle
			return edit
		}
		return fail("", err)
	}
	if title != "" && newTitle != title {
		if data, err = d.renamed(data, s.at, newTitle); err == nil {
			data, err = d.relisted(data, title, newTitle)
		}
		if err != nil {
			return fail("", err)
		}
	}
	if off := isOff(entry); title == "" || off != isOff(before[title]) {
		if data, err = d.switched(data, newTitle, off); err != nil {
			return fail("enabled", err)
		}
	}
	return d.become(data, title, newTitle, s.entry)
}

// become makes data the text of the draft, if that can be read and has changed as it was to,
// see [draft.check].
func (d *draft) become(data []byte, title, newTitle string, entry map[string]json.RawMessage) error {
	next := &draft{path: d.path, opts: d.opts}
	next.opts.Format = d.doc.Dialect.Name
	if err := next.take(data); err != nil {
		return &editError{file: d.path, title: cmp.Or(newTitle, title), err: fmt.Errorf("the file could not be read any more: %w", err)}
	}
	if err := next.check(d.said, title, newTitle, entry); err != nil {
		return err
	}
	*d = *next
	return nil
}

// isOff reports whether an entry in our words is switched off.
func isOff(entry json.RawMessage) bool { return string(membersOf(entry)["enabled"]) == "false" }

// written returns the text with the entry of s changed.
func (d *draft) written(s *scribe, was json.RawMessage) ([]byte, error) {
	old := withKind(membersOf(was))
	s.entry = withKind(s.entry)
	for _, key := range differing(old, s.entry) {
		if err := s.key(key, s.entry[key], old[key]); err != nil {
			return nil, err
		}
	}
	for _, c := range s.changes {
		if d.write.Strict && c.value != nil && !s.known(c.path[0]) {
			return nil, &editError{file: d.path, key: c.path[0],
				err: fmt.Errorf("has no place in a file of the format %s, whose program refuses keys that it does not know: leave it out", d.doc.Dialect.Name)}
		}
	}
	if s.at.value != nil {
		return applyChanges(d.data, s.changes, s.at.path, d.edit)
	}
	object := []byte("{}")
	if !s.at.named {
		object = marshalJSON(map[string]string{"name": s.title})
	}
	object, err := applyChanges(object, s.changes, nil, jsonedit.Of(dialect.Syntax{}))
	if err != nil {
		return nil, err
	}
	if name := d.write.Name; s.at.named && name != "" {
		if object, err = jsonedit.Set(object, quoteJSON(s.title), name); err != nil {
			return nil, err
		}
	}
	return d.edit.Set(d.data, object, s.at.path...)
}

// known reports whether a key stands in the entry already, or the file's program has it.
func (s *scribe) known(key string) bool {
	if s.at.value != nil && s.at.value.Member(key) != nil {
		return true
	}
	for _, word := range s.draft.write.Keys {
		if first, _, _ := strings.Cut(word, "/"); first == key {
			return true
		}
	}
	return false
}

// renamed returns data in which the entry at a place has another name.
func (d *draft) renamed(data []byte, at *spot, title string) ([]byte, error) {
	if at.named {
		return d.edit.Rename(data, title, at.path...)
	}
	return d.edit.Set(data, quoteJSON(title), append(slices.Clone(at.path), "name")...)
}

// applyChanges returns data with the changes of an entry that stands at path.
func applyChanges(data []byte, changes []change, path []string, edit *dialect.Edit) ([]byte, error) {
	var err error
	for _, c := range changes {
		at := append(slices.Clone(path), c.path...)
		if c.value == nil {
			data, err = edit.Remove(data, at...)
		} else {
			data, err = edit.Set(data, c.value, at...)
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// withKind returns an entry with the transport that it has when none is said.
func withKind(entry map[string]json.RawMessage) map[string]json.RawMessage {
	if len(entry) == 0 || entry["transport"] != nil {
		return entry
	}
	kind := config.TransportStdio
	if entry["url"] != nil && entry["command"] == nil {
		kind = config.TransportAuto
	}
	entry["transport"] = quoteJSON(kind)
	return entry
}

// check compares what the draft says now with what it said before, and with what the
// entry called title was to say.
func (d *draft) check(was *content, title, newTitle string, want map[string]json.RawMessage) error {
	is, err := d.content()
	if err != nil {
		return err
	}
	fail := func(title, key string, err error) error {
		return &editError{file: d.path, title: title, key: key, err: err}
	}
	before, now := was.entries, is.entries
	for other, text := range before {
		if other != title && !equalJSON(now[other], text) {
			return fail(other, "", errors.New("would change too: change the file by hand"))
		}
	}
	expected := len(before)
	if title == "" && newTitle != "" {
		expected++
	}
	if title != "" && newTitle == "" {
		expected--
	}
	if len(now) != expected {
		return fail(newTitle, "", errors.New("other servers would come or go: change the file by hand"))
	}
	if newTitle == "" {
		return nil
	}
	got, ok := now[newTitle]
	if !ok {
		return fail(newTitle, "", errors.New("could not be read back: change the file by hand"))
	}
	if lost := differing(withKind(membersOf(got)), want); len(lost) > 0 {
		return fail(newTitle, lost[0], fmt.Errorf("cannot be said in a file of the format %s as wanted", d.doc.Dialect.Name))
	}
	if err := is.faults[newTitle]; err != nil && (title == "" || was.faults[title] == nil) {
		return fail(newTitle, "", fmt.Errorf("the server could not be used: %w", err))
	}
	return nil
}

// differing returns the keys under which two entries say different things.
func differing(got, want map[string]json.RawMessage) (keys []string) {
	both := map[string]json.RawMessage{}
	maps.Copy(both, got)
	maps.Copy(both, want)
	for _, key := range dialect.InOrder(both) {
		if !equalJSON(got[key], want[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// remove takes the entry called title away.
func (d *draft) remove(title string) error {
	if _, err := d.content(); err != nil {
		return err
	}
	at := d.find(title)
	if at == nil {
		return &editError{file: d.path, title: title, err: &record.Error{Code: record.CodeNotFound, Name: title}}
	}
	data, err := d.forgotten(d.data, title)
	if err == nil {
		data, err = d.edit.Remove(data, at.path...)
	}
	if err != nil {
		return &editError{file: d.path, title: title, err: err}
	}
	return d.become(data, title, "", nil)
}
