package access

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/glob"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A record is what is kept of a key. In memory it does not change.
type record struct {
	Key
	Hash string `json:"hash"` // SHA-256 of the secret
}

// set puts what is decided about a key into a record that no one else has.
func (r *record) set(o KeyOptions) {
	r.KeyOptions = o
	r.Grant, r.Expires = o.Grant.clone(), o.Expires.UTC().Truncate(time.Second)
}

// key returns a copy for the program.
func (r *record) key() Key {
	k := r.Key
	k.Grant = k.Grant.clone()
	return k
}

func (g *Grant) clone() *Grant {
	if g == nil {
		return nil
	}
	c := *g
	c.Profiles, c.Servers, c.Tools = slices.Clone(g.Profiles), slices.Clone(g.Servers), slices.Clone(g.Tools)
	return &c
}

// check fails if a key cannot be made with the options.
func (o *KeyOptions) check() error {
	const most = 200 // bytes: they are shown in lists
	switch {
	case len(o.Label) > most || len(o.User) > most:
		return fmt.Errorf("access: the label or the user has more than %d bytes", most)
	case !utf8.ValidString(o.Label) || !utf8.ValidString(o.User):
		return errors.New("access: the label or the user is no valid UTF-8")
	case o.Grant == nil:
		return nil
	}
	for _, patterns := range [][]string{o.Grant.Profiles, o.Grant.Servers, o.Grant.Tools} {
		for _, text := range patterns {
			if _, err := glob.Compile(text); err != nil {
				return fmt.Errorf("access: the pattern %.100q %w", text, err)
			}
		}
	}
	return nil
}

// formatVersion is that of what is kept. A later one is refused: what it allows is not known.
const formatVersion = 1

// A file is what is kept of all keys.
type file struct {
	Version int       `json:"version"`
	Keys    []*record `json:"keys"`
}

// render returns what is kept of records.
func render(records map[string]*record) ([]byte, error) {
	all := file{formatVersion, []*record{}}
	for _, id := range slices.Sorted(maps.Keys(records)) {
		all.Keys = append(all.Keys, records[id])
	}
	return json.MarshalIndent(all, "", "  ")
}

// parse reads what render has written, and nothing else.
func parse(data []byte) (map[string]*record, error) {
	if err := jsonscan.Valid(data); err != nil {
		return nil, fmt.Errorf("what is kept is not sound: %w", err)
	}
	var version struct{ Version int }
	switch err := json.Unmarshal(data, &version); {
	case err != nil || version.Version < 1:
		return nil, errors.New("what is kept is not sound: it has no version")
	case version.Version > formatVersion:
		return nil, fmt.Errorf("what is kept has version %d, which a later version of this program has written; use that one", version.Version)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var all file
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("what is kept is not sound: %w", err)
	}
	records := make(map[string]*record, len(all.Keys))
	for i, r := range all.Keys {
		if r == nil || len(r.ID) != idLength || records[r.ID] != nil || len(r.Hash) != 2*sha256.Size || strings.Trim(r.Hash, "0123456789abcdef") != "" {
			return nil, fmt.Errorf("what is kept is not sound: key %d", i+1)
		}
		records[r.ID] = r
	}
	return records, nil
}
