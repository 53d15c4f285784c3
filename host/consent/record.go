package consent

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A Verdict is a decision about a launch.
type Verdict string

// The verdicts.
const (
	Pending  Verdict = "pending"  // there is no decision; it must not be started
	Approved Verdict = "approved" // it may be started
	Rejected Verdict = "rejected" // it must not be started, and no user is asked
)

// A Record is one decision. The names are those that it had at that time.
type Record struct {
	Fingerprint string    `json:"fingerprint"` // of the launch, see [Launch.Fingerprint]
	Verdict     Verdict   `json:"verdict"`     // Approved or Rejected
	By          string    `json:"by"`          // the person who decided
	At          time.Time `json:"at"`          // when, in UTC and whole seconds
	Project     string    `json:"project"`     // folder of the config file, absolute
	Server      string    `json:"server"`      // configured name
	Title       string    `json:"title"`       // the name as written
	Source      string    `json:"source"`      // where the entry stood, as file:line
	// Target is the absolute path of the program, or scheme and host of the URL.
	Target string `json:"target"`
}

// formatVersion is that of the file. A later one is refused: what it approves is not
// known.
const formatVersion = 1

type wireBook struct {
	Version  int      `json:"version"`
	Consents []Record `json:"consents"`
}

// render returns what is kept of records.
func render(records []Record) ([]byte, error) {
	return canonjson.MarshalLines(wireBook{formatVersion, records})
}

// parse reads what render has written, and nothing else, by fingerprint.
func parse(data []byte) (map[string]Record, error) {
	const cure = "restore it, or remove it to be asked again about each server"
	if err := jsonscan.Valid(data); err != nil {
		return nil, fmt.Errorf("it is not sound: %w; %s", err, cure)
	}
	var version struct{ Version int }
	if err := json.Unmarshal(data, &version); err != nil || version.Version < 1 {
		return nil, errors.New("it is not sound: it has no version; " + cure)
	}
	if version.Version > formatVersion {
		return nil, fmt.Errorf("it has version %d, which a later version of this program has written; use that one", version.Version)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var doc wireBook
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("it is not sound: %w; %s", err, cure)
	}
	records := make(map[string]Record, len(doc.Consents))
	for i, r := range doc.Consents {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("it is not sound: decision %d: %w; %s", i+1, err, cure)
		}
		if _, twice := records[r.Fingerprint]; twice {
			return nil, fmt.Errorf("it is not sound: decision %d: there is another with its fingerprint; %s", i+1, cure)
		}
		records[r.Fingerprint] = r
	}
	return records, nil
}

func (r *Record) check() error {
	if raw, err := hex.DecodeString(r.Fingerprint); err != nil || len(raw) != 32 || strings.ToLower(r.Fingerprint) != r.Fingerprint {
		return errors.New("its fingerprint is none")
	}
	if r.Verdict != Approved && r.Verdict != Rejected {
		return fmt.Errorf("the verdict %q is not known", r.Verdict)
	}
	return checkBy(r.By)
}

// maxBy bounds the name of a person who decides.
const maxBy = 256 // bytes

func checkBy(by string) error {
	if by == "" || len(by) > maxBy || !utf8.ValidString(by) {
		return fmt.Errorf("who decides must be named, in at most %d bytes of UTF-8", maxBy)
	}
	return nil
}
