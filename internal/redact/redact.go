// Package redact finds secrets in text by their form: keys and tokens whose
// issuers gave them a form of their own, so that a program can tell them from
// hashes, identifiers and images.
//
// Text is read once, from left to right, whatever it holds. A secret without a form of
// its own, such as a password in prose, is not found.
package redact

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A pattern is a secret of a form that only the user knows.
type pattern struct {
	kind string
	*regexp.Regexp
}

// A Redactor replaces secrets by "[redacted: kind]". It is safe for concurrent
// use. Make one with [New].
type Redactor struct {
	rules    []rule
	starts   [1 << startBits]uint16 // one more than the place in shared, by the start of the anchor; 0: no rule
	shared   [][]int                // rules that share a start, the longest anchor first
	patterns []pattern
}

// New returns a Redactor that looks for secrets of known forms, and for those of forms that
// only the user knows, by their kind. If an expression has a group, the group is the secret,
// and the rest of the match stays.
func New(secrets map[string]*regexp.Regexp) *Redactor {
	r := &Redactor{rules: knownForms()}
	for _, kind := range slices.Sorted(maps.Keys(secrets)) {
		if secrets[kind] != nil {
			r.patterns = append(r.patterns, pattern{kind, secrets[kind]})
		}
	}
	for i, rule := range r.rules {
		slot := &r.starts[startOf(rule.anchor, 0)]
		if *slot == 0 {
			r.shared = append(r.shared, nil)
			*slot = uint16(len(r.shared))
		}
		r.shared[*slot-1] = append(r.shared[*slot-1], i)
	}
	for _, rules := range r.shared {
		slices.SortStableFunc(rules, func(a, b int) int { return len(r.rules[b].anchor) - len(r.rules[a].anchor) })
	}
	return r
}

// Known returns the Redactor that looks for secrets of known forms alone.
func Known() *Redactor { return knownOnly() }

var knownOnly = sync.OnceValue(func() *Redactor { return New(nil) })

// Anchors have at least startLength bytes, by which they are found.
const (
	startLength = 3
	startBits   = 12
)

// startOf returns a number for the bytes that begin at a place.
func startOf(text string, at int) uint32 {
	_ = text[at+startLength-1]
	bytes := uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16
	return bytes * 0x9e3779b1 >> (32 - startBits)
}

// A span is a secret in a text.
type span struct {
	from, to int
	kind     string
}

// Text returns text without its secrets. If it has none it is text itself.
func (r *Redactor) Text(text string) string {
	spans := r.known(text, nil)
	for _, p := range r.patterns {
		for _, m := range p.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				from, to = m[2], m[3]
			}
			if from < to {
				spans = append(spans, span{from, to, p.kind})
			}
		}
	}
	if len(spans) == 0 {
		return text
	}
	return replace(text, spans)
}

// known appends the secrets of known forms. They do not overlap.
func (r *Redactor) known(text string, spans []span) []span {
	for at := 0; at+startLength <= len(text); {
		next := at + 1
		if slot := r.starts[startOf(text, at)]; slot != 0 {
			for _, i := range r.shared[slot-1] {
				rule := &r.rules[i]
				if !strings.HasPrefix(text[at:], rule.anchor) {
					continue
				}
				if from, to := rule.match(text, at); from < to {
					spans = append(spans, span{from, to, rule.kind})
					next = to
					break
				}
			}
		}
		at = next
	}
	return spans
}

// replace puts the kinds of secrets in their places. Of those that overlap the
// first gives its kind for all.
func replace(text string, spans []span) string {
	slices.SortStableFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	end := 0 // of what was dealt with
	for _, s := range spans {
		if s.from < end {
			end = max(end, s.to)
			continue
		}
		out.WriteString(text[end:s.from])
		out.WriteString("[redacted: " + s.kind + "]")
		end = s.to
	}
	out.WriteString(text[end:])
	return out.String()
}

// JSON returns a JSON value whose strings, keys included, are without their
// secrets. All other bytes stay. If there are none it is value itself. A value that is
// not JSON is taken for text.
func (r *Redactor) JSON(value []byte) []byte {
	if !json.Valid(value) {
		text := string(value)
		if safe := r.Text(text); safe != text {
			return []byte(safe)
		}
		return value
	}
	names := map[string]bool{} // the keys that were redacted
	key := ""                  // before the next string; empty if there is none
	return canonjson.MapStrings(value, func(quoted, rest []byte) (string, bool) {
		text := string(quoted[1 : len(quoted)-1])
		if strings.IndexByte(text, '\\') >= 0 {
			text, _ = jsonscan.String(quoted)
		}
		rest = bytes.TrimLeft(rest, " \t\r\n")
		isKey := len(rest) > 0 && rest[0] == ':'
		safe := r.Text(text)
		if !isKey && safe == text && secretAfter(key, text) {
			safe = "[redacted: " + awsSecret + "]"
		}
		if key = ""; isKey {
			key = text
		}
		if isKey && safe != text { // an object must not have a key twice
			name := safe
			for n := 2; names[safe]; n++ {
				safe = name + " " + strconv.Itoa(n)
			}
			names[safe] = true
		}
		return safe, safe != text
	})
}
