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
// the file's program: keys that are there are set. What switching off would add goes when
// it is switched on.
func (d *draft) switched(data []byte, title string, off bool) ([]byte, error) {
	l, err := d.lever(data, title)
	switch {
	case err != nil:
		return nil, err
	case off && l.word != dialect.OffExcluded:
		return l.turn(data, true, l.word)
	case off && l.excluded != nil:
		return l.edit.Set(data, quoteJSON(title), "mcp", "excluded", "-")
	case off:
		return l.edit.Set(data, marshalJSON([]string{title}), "mcp", "excluded")
	}
	added := [][]string{{"mcp"}, {"mcp", "excluded"}}
	if l.word != dialect.OffExcluded {
		path, _ := l.written(l.word)
		added = [][]string{path}
	}
	for _, path := range added {
		less, err := l.edit.Remove(data, path...)
		if err != nil {
			return nil, err
		}
		rest, err := d.lever(less, title)
		if err == nil {
			less, err = rest.turn(less, false, "")
		}
		if err != nil {
			return nil, err
		}
		if again, err := d.switched(less, title, true); err == nil && bytes.Equal(again, data) {
			return less, nil
		}
	}
	return l.switchOn(data)
}

// A lever is what switches one server.
type lever struct {
	*draft
	title string
	at    *spot
	word  string // the key to write, in the entry or [dialect.OffExcluded]

	allowed, excluded *jsonc.Member // the lists of the file, or nil
}

// lever returns that of a server in data.
func (d *draft) lever(data []byte, title string) (*lever, error) {
	next := &draft{path: d.path, opts: d.opts}
	next.opts.Format = d.doc.Dialect.Name
	if err := next.take(data); err != nil {
		return nil, err
	}
	root := &next.doc.Tree.Root
	l := &lever{draft: next, title: title, at: next.find(title),
		allowed: dialect.ListMember(root, "allowed"), excluded: dialect.ListMember(root, "excluded")}
	if l.at == nil {
		return nil, &record.Error{Code: record.CodeNotFound, Name: title}
	}
	l.word = cmp.Or(next.write.Keys["enabled"], dialect.OffEnabled)
	if dialect.ListsServers(root) {
		l.word = dialect.OffExcluded
	} else if !next.doc.ToldOff {
		l.word = l.likeOthers()
	}
	return l, nil
}

// likeOthers returns the word that the entry has, or else others of the file.
func (l *lever) likeOthers() string {
	words := []string{dialect.OffDisabled, dialect.OffEnabled}
	for _, key := range words {
		if _, there := l.written(key); there != nil {
			return key
		}
	}
	for _, key := range words {
		for _, section := range l.doc.Sections {
			if slices.ContainsFunc(section.Entries, func(e dialect.Entry) bool { return e.Value.Member(key) != nil }) {
				return key
			}
		}
	}
	if !l.at.named {
		return dialect.OffEnabled
	}
	return l.word
}

// written returns the path of a key of the entry that switches it, and its value if it is
// there.
func (l *lever) written(key string) ([]string, *jsonc.Node) {
	s := &scribe{draft: l.draft, at: l.at}
	if f, path := s.field(key); f != nil && f.Value.Kind == jsonc.Bool {
		return append(slices.Clone(l.at.path), path...), f.Value
	}
	return append(slices.Clone(l.at.path), key), nil
}

// turn sets the keys of the entry that are there, and the one called add.
func (l *lever) turn(data []byte, off bool, add string) (_ []byte, err error) {
	for _, key := range []string{dialect.OffEnabled, dialect.OffDisabled} {
		if path, there := l.written(key); there != nil || key == add {
			if data, err = l.edit.Set(data, strconv.AppendBool(nil, (key == dialect.OffDisabled) == off), path...); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

// switchOn says in data that the server is on, by the keys that are there and the lists.
func (l *lever) switchOn(data []byte) ([]byte, error) {
	data, err := l.turn(data, false, "")
	if err == nil {
		data, err = l.unlisted(data, "excluded", 0)
	}
	if err != nil || l.allowed == nil || slices.Contains(dialect.Titles(l.allowed), l.title) {
		return data, err
	}
	return l.edit.Set(data, quoteJSON(l.title), "mcp", "allowed", "-")
}

// unlisted returns data in which a list does not have the server; but the list does not
// come to have fewer names than least.
func (l *lever) unlisted(data []byte, list string, least int) (_ []byte, err error) {
	m := dialect.ListMember(&l.doc.Tree.Root, list)
	if m == nil || m.Value.Kind != jsonc.Array {
		return data, nil
	}
	left := len(m.Value.Elems)
	for i, n := range slices.Backward(m.Value.Elems) {
		if n.Text != l.title || left <= least {
			continue
		}
		left--
		if data, err = l.edit.Remove(data, "mcp", list, strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// forgotten returns data in which the lists do not have a server that is to be removed;
// but a list of those that are allowed does not become empty, which might allow all.
func (d *draft) forgotten(data []byte, title string) ([]byte, error) {
	l, err := d.lever(data, title)
	if err == nil && l.word == dialect.OffExcluded && slices.Contains(dialect.Titles(l.excluded), title) {
		if data, err = d.switched(data, title, false); err == nil {
			l, err = d.lever(data, title)
		}
	}
	if err != nil || l.word != dialect.OffExcluded {
		return data, err
	}
	return l.unlisted(data, "allowed", 1)
}

// relisted returns data in which the lists have a server under its new name.
func (d *draft) relisted(data []byte, title, newTitle string) (_ []byte, err error) {
	for _, key := range []string{"allowed", "excluded"} {
		m := dialect.ListMember(&d.doc.Tree.Root, key)
		if m == nil || m.Value.Kind != jsonc.Array {
			continue
		}
		for i := range m.Value.Elems {
			if m.Value.Elems[i].Text != title {
				continue
			}
			if data, err = d.edit.Set(data, quoteJSON(newTitle), "mcp", key, strconv.Itoa(i)); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}
