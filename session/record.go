package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
)

// recordFormat is the newest format of records. Older ones are read.
const recordFormat = 1

// The names of records in a store begin with their kind.
const (
	sessionPrefix = "s-" // sessions, by key
	pendingPrefix = "p-" // logins that wait for the user, by state
	promptPrefix  = "l-" // locked while a login is shown to the user, by key

	registrationPrefix = "c-" // clients that were registered, by what they were registered as
)

// A record is what is kept of one session. It is not changed once it is known
// to others; with makes a changed copy.
type record struct {
	Version int    `json:"version"`
	User    string `json:"user"`
	Server  string `json:"server"`
	// URL is the server's address when the session began. It is good for no
	// other.
	URL string `json:"url,omitempty"`

	Grant   *auth.TokenSet `json:"grant,omitempty"`
	Ended   string         `json:"ended,omitempty"` // why Grant cannot be renewed any more
	Journal *journal       `json:"journal,omitempty"`

	// Client is what the program has logged in as last, if it was registered for that.
	// It outlives Grant. The next login takes that of the registration, if there is one.
	Client     *auth.Client `json:"client,omitempty"`
	Unanswered bool         `json:"unanswered,omitempty"` // the last login of Client; perhaps it is known no more
	// About is the server's address that the following were found out at.
	About       string           `json:"about,omitempty"`
	HadMetadata bool             `json:"had_metadata,omitempty"`
	Challenges  []auth.Challenge `json:"challenges,omitempty"` // the last that asked for a login

	Logins         int    `json:"logins,omitempty"` // how often the user has logged in
	Login          *login `json:"login,omitempty"`
	DeclinedReason string `json:"silent,omitempty"`   // why the user is not asked again
	Failed         string `json:"failed,omitempty"`   // why the last login brought nothing
	StepUps        int    `json:"step_ups,omitempty"` // logins for more rights since the user last asked for a login

	// Header holds secrets that are sent instead of a token.
	Header map[string]auth.Secret `json:"header,omitempty"`
}

// A journal is written before a refresh token is sent, so that a process that finds it
// knows that the token may have been used up.
type journal struct {
	Refresh string `json:"refresh"` // SHA-256 of the refresh token
}

// A login is one that waits for the user.
type login struct {
	Name     string    `json:"name"` // of the pending's own record
	URL      string    `json:"url"`
	UserCode string    `json:"user_code,omitempty"`
	Expires  time.Time `json:"expires"`
	Scopes   []string  `json:"scopes,omitempty"`
	Prompt   bool      `json:"prompt,omitempty"` // of use while the process that began it shows it, or polls for it
}

// pending is what is kept of a login under the hash of its state.
type pending struct {
	Version int           `json:"version"`
	User    string        `json:"user"`
	Server  string        `json:"server"`
	URL     string        `json:"url"` // of the server
	Login   *auth.Pending `json:"login"`
}

// Format prints whose session it is, and no secret; see package auth for why.
func (r record) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "session of %v", r.key()) }

func newRecord(key Key) *record {
	return &record{Version: recordFormat, User: key.User, Server: key.Server}
}

// with returns a copy that f has changed.
func (r *record) with(f func(*record)) *record {
	c := *r
	f(&c)
	return &c
}

// key returns whose record it is.
func (r *record) key() Key { return Key{User: r.User, Server: r.Server} }

// live returns the token set if it is one for the server at url and can be used.
func (r *record) live(url string) *auth.TokenSet {
	if r.Grant == nil || r.Ended != "" || r.URL != url {
		return nil
	}
	return r.Grant
}

// why returns why a login is needed: the newest of what is known.
func (r *record) why() string { return cmp.Or(r.Failed, r.Ended) }

// newerLogin reports whether the record has a login or headers that before has not.
func (r *record) newerLogin(before *record) bool {
	switch {
	case len(r.Header) > 0:
		return !maps.Equal(r.Header, before.Header)
	case r.Grant == nil || r.Ended != "":
		return false
	}
	return before.Grant == nil || before.Ended != "" || r.Logins > before.Logins
}

// at returns the record without what was found out at another address than url. A
// grant for that stays, in case that the server comes back.
func (r *record) at(url string) *record {
	if r.About == url {
		return r
	}
	return r.with(func(r *record) {
		if r.About != "" {
			r.HadMetadata, r.Challenges, r.Login, r.StepUps = false, nil, nil, 0
		}
		r.About = url
	})
}

func decodeRecord(data []byte, key Key) (*record, error) {
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("not a session: %w", err)
	}
	switch {
	case r.Version < 1 || r.Version > recordFormat:
		return nil, fmt.Errorf("a session of format %d, which this version does not know", r.Version)
	case key != (Key{}) && r.key() != key:
		return nil, fmt.Errorf("the session of another key")
	}
	return r, nil
}

func decodePending(data []byte) (*pending, error) {
	p := &pending{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("not a login: %w", err)
	}
	if p.Version < 1 || p.Version > recordFormat || p.Login == nil {
		return nil, fmt.Errorf("a login of format %d, which this version does not know", p.Version)
	}
	return p, nil
}

// recordName returns the name under which the session of a key is kept. Other
// keys have other names, and nothing of the key can be read from it.
func recordName(key Key) string {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(key.User)))
	h := sha256.New()
	h.Write(size[:])
	h.Write([]byte(key.User))
	h.Write([]byte(key.Server))
	return sessionPrefix + hex.EncodeToString(h.Sum(nil))
}

func pendingName(state string) string { return pendingPrefix + hashOf(state) }

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
