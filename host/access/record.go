package access

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/glob"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A wireKey is a key as it is kept.
type wireKey struct {
	ID      string    `json:"id"`
	Hash    string    `json:"hash"` // SHA-256 of the secret
	Label   string    `json:"label,omitempty"`
	User    string    `json:"user,omitempty"`
	Grant   *Grant    `json:"grant,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Used    time.Time `json:"used,omitzero"`
}

// A record is a key in memory. It does not change.
type record struct{ wireKey }

// set puts what is decided about a key into a record that no one else has.
func (r *record) set(o KeyOptions) {
	r.Label, r.User, r.Grant, r.Expires = o.Label, o.User, o.Grant.clone(), o.Expires.UTC().Truncate(time.Second)
	if o.Expires.IsZero() {
		r.Expires = time.Time{}
	}
}

func (r *record) key() Key {
	return Key{ID: r.ID, KeyOptions: KeyOptions{Label: r.Label, User: r.User, Grant: r.Grant.clone(), Expires: r.Expires}, Created: r.Created, Used: r.Used}
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

type wireKeys struct {
	Version int       `json:"version"`
	Keys    []wireKey `json:"keys"`
}

// render returns what is kept of records.
func render(records map[string]*record) ([]byte, error) {
	all := wireKeys{Version: formatVersion, Keys: []wireKey{}}
	for _, id := range slices.Sorted(maps.Keys(records)) {
		all.Keys = append(all.Keys, records[id].wireKey)
	}
	return json.MarshalIndent(all, "", "  ")
}

// parse reads what render has written, and nothing else.
func parse(data []byte) (map[string]*record, error) {
	if err := jsonscan.Valid(data); err != nil {
		return nil, fmt.Errorf("what is kept is not sound: %w", err)
	}
	var version struct{ Version int }
	if err := json.Unmarshal(data, &version); err != nil || version.Version < 1 {
		return nil, errors.New("what is kept is not sound: it has no version")
	}
	if version.Version > formatVersion {
		return nil, fmt.Errorf("what is kept has version %d, which a later version of this program has written; use that one", version.Version)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var all wireKeys
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("what is kept is not sound: %w", err)
	}
	records := make(map[string]*record, len(all.Keys))
	for i, w := range all.Keys {
		if sum, err := hex.DecodeString(w.Hash); err != nil || len(sum) != 32 || len(w.ID) != idLength || records[w.ID] != nil {
			return nil, fmt.Errorf("what is kept is not sound: key %d", i+1)
		}
		records[w.ID] = &record{wireKey: w}
	}
	return records, nil
}
