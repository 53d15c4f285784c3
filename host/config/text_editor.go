package config

import "encoding/json"

// A textEditor changes the text of a config file for a store that reads and writes it.
// It keeps all that [File] keeps. Text that is nil is that of a new file.
type textEditor struct {
	path string
	opts *Options
}

// put makes the entry called title say what entry says, in our words, and be called
// newTitle. An empty title adds it.
func (t *textEditor) put(data []byte, title, newTitle string, entry json.RawMessage) ([]byte, error) {
	d, err := newDraft(t.path, data, t.opts)
	if err != nil {
		return nil, err
	}
	if err := d.put(title, newTitle, entry); err != nil {
		return nil, err
	}
	return d.data, nil
}

// remove takes the entry called title away.
func (t *textEditor) remove(data []byte, title string) ([]byte, error) {
	d, err := newDraft(t.path, data, t.opts)
	if err != nil {
		return nil, err
	}
	if err := d.remove(title); err != nil {
		return nil, err
	}
	return d.data, nil
}
