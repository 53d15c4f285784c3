package edit

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// switched returns data in which the server called title is on or off, in the words of
// the file's program. Switching off and on again gives the same bytes, and so does on and
// off, but for the order of a list: a key goes when switching off would write it again,
// else it is set. Where a key that was there looks like one that would be written, a
// second blank in front of its value, which no program minds, tells that it stays.
func (d *draft) switched(data []byte, title string, off bool) ([]byte, error) {
	after, err := d.turned(data, title, off)
	if err != nil {
		return nil, err
	}
	if again, err := d.turned(after, title, !off); err != nil || bytes.Equal(again, data) {
		return after, err
	}
	l, err := d.lever(after, title)
	if err != nil {
		return nil, err
	}
	at := -1
	if off {
		at = l.markedAt()
	} else if m := dialect.ListMember(&l.doc.Tree.Root, "allowed"); m != nil {
		at = m.Value.Offset
	}
	if at >= 0 {
		marked := mark(after, at)
		if again, err := d.turned(marked, title, !off); err != nil || bytes.Equal(again, data) {
			return marked, err
		}
	}
	return after, nil
}

// turned is switched without marks.
func (d *draft) turned(data []byte, title string, off bool) ([]byte, error) {
	if off {
		return d.switchOff(data, title)
	}
	return d.switchOn(data, title)
}

// A lever is what switches one server.
type lever struct {
	*draft
	title string
	at    *spot
	word  string // the key to write, in the entry or [dialect.OffExcluded]
}

// lever returns that of a server in data.
func (d *draft) lever(data []byte, title string) (*lever, error) {
	next := &draft{path: d.path, opts: d.opts}
	next.opts.Format = d.doc.Dialect.Name
	if err := next.take(data); err != nil {
		return nil, err
	}
	l := &lever{draft: next, title: title, at: next.find(title)}
	if l.at == nil {
		return nil, &record.Error{Code: record.CodeNotFound, Name: title}
	}
	l.word = cmp.Or(next.write.Keys["enabled"], dialect.OffEnabled)
	if dialect.ListsServers(&next.doc.Tree.Root) {
		l.word = dialect.OffExcluded
	} else if !next.doc.ToldOff {
		l.word = l.likeOthers()
	}
	return l, nil
}

// likeOthers returns the word that the entry has, or else others of the file.
func (l *lever) likeOthers() string {
	for _, key := range []string{dialect.OffDisabled, dialect.OffEnabled} {
		if _, there := l.written(key); there != nil {
			return key
		}
	}
	switch {
	case l.says(dialect.OffDisabled):
		return dialect.OffDisabled
	case l.says(dialect.OffEnabled) || !l.at.named:
		return dialect.OffEnabled
	default:
		return l.word
	}
}

// says reports whether an entry of the file has a key.
func (d *draft) says(key string) bool {
	for _, section := range d.doc.Sections {
		for i := range section.Entries {
			if section.Entries[i].Value.Member(key) != nil {
				return true
			}
		}
	}
	return false
}

// written returns the path of a key of the entry that switches it, and whether it is
// there.
func (l *lever) written(key string) ([]string, *jsonc.Node) {
	s := &scribe{draft: l.draft, at: l.at}
	if f, path := s.field(key); f != nil && f.Value.Kind == jsonc.Bool {
		return append(slices.Clone(l.at.path), path...), f.Value
	}
	return append(slices.Clone(l.at.path), key), nil
}

// turn sets the key of the entry, whether it is there or not.
func (l *lever) turn(data []byte, key string, off bool) ([]byte, error) {
	path, _ := l.written(key)
	return l.write.Edit.Set(data, strconv.AppendBool(nil, (key == dialect.OffDisabled) == off), path...)
}

// switchOff says in data that a server is off.
func (d *draft) switchOff(data []byte, title string) ([]byte, error) {
	l, err := d.lever(data, title)
	if err != nil {
		return nil, err
	}
	if l.word == dialect.OffExcluded {
		return l.exclude(data)
	}
	for _, key := range []string{dialect.OffEnabled, dialect.OffDisabled} {
		if _, there := l.written(key); there != nil || key == l.word {
			if data, err = l.turn(data, key, true); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

// exclude says by the lists that a server is off.
func (l *lever) exclude(data []byte) ([]byte, error) {
	set := l.write.Edit.Set
	allowed, excluded := dialect.ListMember(&l.doc.Tree.Root, "allowed"), dialect.ListMember(&l.doc.Tree.Root, "excluded")
	if allowed != nil {
		// If switching on may have put it there, it goes again.
		at, last := allowed.Value.Offset, len(allowed.Value.Elems)-1
		if last > 0 && allowed.Value.Elems[last].Text == l.title && (excluded == nil || isMarked(data, at)) {
			return l.write.Edit.Remove(unmarked(data, at), "mcp", "allowed", strconv.Itoa(last))
		}
	}
	if excluded != nil {
		return set(data, quoteJSON(l.title), "mcp", "excluded", "-")
	}
	return set(data, marshalJSON([]string{l.title}), "mcp", "excluded")
}

// switchOn says in data that a server is on.
func (d *draft) switchOn(data []byte, title string) ([]byte, error) {
	l, err := d.lever(data, title)
	if err != nil {
		return nil, err
	}
	var added [][]string // that switching off may have
	if slices.Contains(dialect.Titles(dialect.ListMember(&l.doc.Tree.Root, "excluded")), title) {
		added = [][]string{{"mcp"}, {"mcp", "excluded"}}
	} else if path, there := l.written(l.word); there != nil && there.Text == strconv.FormatBool(l.word == dialect.OffDisabled) {
		added = [][]string{path}
	}
	if data, err = d.without(data, title, added...); err != nil {
		return nil, err
	}
	m := dialect.ListMember(&l.doc.Tree.Root, "allowed")
	if m == nil || slices.Contains(dialect.Titles(m), title) {
		return data, nil
	}
	return l.write.Edit.Set(data, quoteJSON(title), "mcp", "allowed", "-")
}

// without returns data in which a server that is off is not, as far as keys go: without
// one of the paths, if switching off writes that again, or else with the keys set.
func (d *draft) without(data []byte, title string, paths ...[]string) ([]byte, error) {
	edit := d.write.Edit
	for _, path := range paths {
		less, err := edit.Remove(data, path...)
		if err != nil {
			return nil, err
		}
		if less, err = d.setOn(less, title); err != nil {
			return nil, err
		}
		if again, err := d.switchOff(less, title); err == nil && bytes.Equal(again, data) {
			return less, nil
		}
	}
	on, err := d.setOn(data, title)
	if err != nil || len(paths) == 0 {
		return on, err
	}
	l, err := d.lever(on, title)
	if err != nil {
		return nil, err
	}
	return unmarked(on, l.markedAt()), nil
}

// setOn sets the keys that are there, and takes the server out of the list.
func (d *draft) setOn(data []byte, title string) ([]byte, error) {
	l, err := d.lever(data, title)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{dialect.OffEnabled, dialect.OffDisabled} {
		if _, there := l.written(key); there != nil {
			if data, err = l.turn(data, key, false); err != nil {
				return nil, err
			}
		}
	}
	if m := dialect.ListMember(&l.doc.Tree.Root, "excluded"); m != nil && m.Value.Kind == jsonc.Array {
		for i := len(m.Value.Elems) - 1; i >= 0; i-- {
			if m.Value.Elems[i].Text != title {
				continue
			}
			if data, err = l.write.Edit.Remove(data, "mcp", "excluded", strconv.Itoa(i)); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

// markedAt is where the value of the key stands that a blank marks, or -1.
func (l *lever) markedAt() int {
	if l.word == dialect.OffExcluded {
		if m := dialect.ListMember(&l.doc.Tree.Root, "excluded"); m != nil {
			return m.Value.Offset
		}
		return -1
	}
	if _, there := l.written(l.word); there != nil {
		return there.Offset
	}
	return -1
}

// mark puts a blank more in front of the value at an offset.
func mark(data []byte, at int) []byte { return slices.Insert(slices.Clone(data), at, ' ') }

// isMarked reports whether two blanks stand in front of the value at an offset.
func isMarked(data []byte, at int) bool { return at > 1 && data[at-1] == ' ' && data[at-2] == ' ' }

// unmarked takes one of them away.
func unmarked(data []byte, at int) []byte {
	if !isMarked(data, at) {
		return data
	}
	return slices.Delete(slices.Clone(data), at-1, at)
}

// unlisted returns data in which the lists do not have a server that is to be removed;
// but a list of those that are allowed does not become empty, which might allow all.
func (d *draft) unlisted(data []byte, title string) ([]byte, error) {
	if !dialect.ListsServers(&d.doc.Tree.Root) {
		return data, nil
	}
	var err error
	if slices.Contains(dialect.Titles(dialect.ListMember(&d.doc.Tree.Root, "excluded")), title) {
		if data, err = d.without(data, title, []string{"mcp"}, []string{"mcp", "excluded"}); err != nil {
			return nil, err
		}
	}
	if m := dialect.ListMember(&d.doc.Tree.Root, "allowed"); m != nil && len(m.Value.Elems) > 1 {
		if i := slices.IndexFunc(m.Value.Elems, func(n jsonc.Node) bool { return n.Text == title }); i >= 0 {
			return d.write.Edit.Remove(data, "mcp", "allowed", strconv.Itoa(i))
		}
	}
	return data, nil
}

// relisted returns data in which the lists have a server under its new name.
func (d *draft) relisted(data []byte, title, newTitle string) ([]byte, error) {
	for _, key := range []string{"allowed", "excluded"} {
		m := dialect.ListMember(&d.doc.Tree.Root, key)
		if m == nil || m.Value.Kind != jsonc.Array {
			continue
		}
		for i := range m.Value.Elems {
			if m.Value.Elems[i].Text != title {
				continue
			}
			var err error
			if data, err = d.write.Edit.Set(data, quoteJSON(newTitle), "mcp", key, strconv.Itoa(i)); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}
