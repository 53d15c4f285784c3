package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Bounds of a notebook.
const (
	maxNotes     = 10_000
	maxTextBytes = 64 << 10
	maxTitle     = 80 // characters
)

// A Note is one note. Notes are values: they do not change once made.
type Note struct {
	ID    string `json:"id" jsonschema:"identifies the note and is never used again"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// A notebook keeps notes, oldest first. Its methods are safe for concurrent
// use, and reading never waits for a write to the disk.
type notebook struct {
	path string // empty: memory only

	write sync.Mutex // held by the one writer, also while it saves
	pages atomic.Pointer[pages]
}

// Pages are one immutable state of a notebook, and the form of its file.
type pages struct {
	LastID int    `json:"lastId"`
	Notes  []Note `json:"notes"`
}

// openNotebook reads the notebook at path; a missing file is an empty
// notebook. An empty path means memory only.
func openNotebook(path string) (*notebook, error) {
	p := new(pages)
	if path != "" {
		data, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("reading the notes: %w", err)
		default:
			if err := json.Unmarshal(data, p); err != nil {
				return nil, fmt.Errorf("%s is not a notes file (repair it or move it away): %w", path, err)
			}
		}
	}
	// The file may have been edited; a new note must not get an old id.
	for _, n := range p.Notes {
		if id, err := strconv.Atoi(n.ID); err == nil {
			p.LastID = max(p.LastID, id)
		}
	}
	b := &notebook{path: path}
	b.pages.Store(p)
	return b, nil
}

// Create adds a note. An empty title becomes the first line of the text.
func (b *notebook) Create(title, text string) (Note, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Note{}, errors.New("text is empty; write something into the note")
	}
	if len(text) > maxTextBytes {
		return Note{}, fmt.Errorf("text has %d bytes and the limit is %d; split the note", len(text), maxTextBytes)
	}
	if title = strings.TrimSpace(title); title == "" {
		title, _, _ = strings.Cut(text, "\n")
		title = strings.TrimSpace(title)
	}
	note := Note{Title: shorten(title, maxTitle), Text: text}
	err := b.update(func(old *pages) (*pages, error) {
		if len(old.Notes) >= maxNotes {
			return nil, fmt.Errorf("the notebook is full (%d notes); delete some first", maxNotes)
		}
		next := &pages{LastID: old.LastID + 1}
		note.ID = strconv.Itoa(next.LastID)
		next.Notes = append(slices.Clip(old.Notes), note)
		return next, nil
	})
	if err != nil {
		return Note{}, err
	}
	return note, nil
}

// Delete removes a note and reports whether it was there.
func (b *notebook) Delete(id string) (found bool, err error) {
	err = b.update(func(old *pages) (*pages, error) {
		i := old.index(id)
		if found = i >= 0; !found {
			return old, nil
		}
		return &pages{LastID: old.LastID, Notes: slices.Concat(old.Notes[:i], old.Notes[i+1:])}, nil
	})
	return found && err == nil, err
}

// Get returns a note and whether it is there.
func (b *notebook) Get(id string) (Note, bool) {
	p := b.pages.Load()
	i := p.index(id)
	if i < 0 {
		return Note{}, false
	}
	return p.Notes[i], true
}

// All returns every note. The caller must not change the slice.
func (b *notebook) All() []Note { return b.pages.Load().Notes }

// Search returns the notes that contain query in title or text, in any case.
func (b *notebook) Search(query string) []Note {
	query = strings.ToLower(query)
	var found []Note
	for _, n := range b.All() {
		if strings.Contains(strings.ToLower(n.Title+"\n"+n.Text), query) {
			found = append(found, n)
		}
	}
	return found
}

// update replaces the pages by what change makes of them: on disk first, so that no
// client reads a note that a failed write has lost.
func (b *notebook) update(change func(*pages) (*pages, error)) error {
	b.write.Lock()
	defer b.write.Unlock()
	old := b.pages.Load()
	next, err := change(old)
	if err != nil || next == old {
		return err
	}
	if b.path != "" {
		if err := save(b.path, next); err != nil {
			return fmt.Errorf("saving the notes: %w", err)
		}
	}
	b.pages.Store(next)
	return nil
}

func (p *pages) index(id string) int {
	return slices.IndexFunc(p.Notes, func(n Note) bool { return n.ID == id })
}

// save writes beside path and renames, so that path always holds either the
// old pages or the new ones, whatever breaks in between.
func save(path string, p *pages) (err error) {
	data, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(append(data, '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// shorten cuts s to at most n characters, the last one then an ellipsis.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
