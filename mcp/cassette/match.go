package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Bounds of the text of an [UnrecordedError].
const (
	maxShownParams      = 400 // bytes
	maxShownValue       = 120 // bytes
	maxShownDifferences = 10
)

// An UnrecordedError reports a message that the recording does not have, or has
// no more. Nothing in it is a secret that a [Recorder] would redact.
type UnrecordedError struct {
	File   string          // as given to [Replay]
	Method string          // of the request
	Params json.RawMessage // of the request, or the answer to one of the server, without _meta
	// Recorded is how often the very same request was recorded. If it is not
	// zero, all its answers were given already.
	Recorded int
	// NearestMethod is the method of the recorded request that differs least, if
	// possible one with the same method. It is empty if nothing was recorded.
	NearestMethod string
	// Nearest holds the params of that request.
	Nearest json.RawMessage
	// Differences are the values in which Nearest differs from Params, ordered
	// by path.
	Differences []Difference
}

// A Difference is a value that is not as it was recorded.
type Difference struct {
	Path     string // such as "arguments.cities[0]"; empty for the whole
	Recorded string // JSON, or empty if it was not there
	Got      string // JSON, or empty if it is not there
}

func (e *UnrecordedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cassette: %s: %s %s ", e.File, e.Method, shorten(string(e.Params), maxShownParams))
	if e.Recorded > 0 {
		fmt.Fprintf(&b, "was recorded %d times and is now asked once more", e.Recorded)
		return b.String()
	}
	b.WriteString("was not recorded")
	switch {
	case e.NearestMethod == "":
		b.WriteString(", nor was anything else")
		return b.String()
	case e.NearestMethod != e.Method:
		fmt.Fprintf(&b, "; nearest is %s %s", e.NearestMethod, shorten(string(e.Nearest), maxShownParams))
		return b.String()
	}
	b.WriteString("; nearest differs in")
	for i, d := range e.Differences {
		if i == maxShownDifferences {
			fmt.Fprintf(&b, "\n\tand %d more", len(e.Differences)-i)
			break
		}
		fmt.Fprintf(&b, "\n\t%s: recorded %s, got %s", orElse(d.Path, "all"), orElse(shorten(d.Recorded, maxShownValue), "nothing"), orElse(shorten(d.Got, maxShownValue), "nothing"))
	}
	return b.String()
}

// Outcome returns [mcp.NotSent].
func (e *UnrecordedError) Outcome() mcp.Outcome { return mcp.NotSent }

func orElse(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// newUnrecorded returns an error about a request, for which it looks for the
// nearest among the candidates.
func newUnrecorded(file, method string, params json.RawMessage, recorded int, candidates []*turn) *UnrecordedError {
	e := &UnrecordedError{File: file, Method: method, Params: params, Recorded: recorded}
	if recorded > 0 {
		e.NearestMethod, e.Nearest = method, params
		return e
	}
	got := leaves(decisive(method, params))
	nearest := false // one with the same method
	for _, t := range candidates {
		same := t.method == method
		if nearest && !same {
			continue
		}
		differences := compare(leaves(decisive(t.method, t.params)), got)
		if e.NearestMethod == "" || same && !nearest || len(differences) < len(e.Differences) {
			e.NearestMethod, e.Nearest, e.Differences = t.method, t.params, differences
			nearest = nearest || same
		}
	}
	return e
}

// requestKey returns what equal requests have in common and others do not.
func requestKey(method string, params json.RawMessage) string {
	return method + " " + string(canonical(nil, decisive(method, params)))
}

// anyText matches what can stand in a JSON string.
const anyText = `(?:[^"\\]|\\.)*`

// matches reports whether the key of a request is that of a recorded one, but for secrets: where
// one was replaced in the recording any text may stand.
func matches(recorded, key string) bool {
	if recorded == key || !strings.Contains(recorded, redacted) {
		return recorded == key
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(recorded), regexp.QuoteMeta(redacted), anyText)
	r, err := regexp.Compile("^" + pattern + "$") // fails if it is too long
	return err == nil && r.MatchString(key)
}

// decisive returns the part of params that decides about the answer. What a
// client says of itself does not: the name and version that it gives change with
// each release, and newer revisions have it all in _meta.
func decisive(method string, params json.RawMessage) json.RawMessage {
	params = without(params, "_meta")
	if method == "initialize" {
		params = without(without(params, "clientInfo"), "capabilities")
	}
	if params == nil {
		return json.RawMessage("{}")
	}
	return params
}

// without returns an object without a member, in compact form if it had it.
func without(object json.RawMessage, key string) json.RawMessage {
	out, found := []byte{'{'}, false
	for k, value := range jsonscan.Fields(object) {
		if string(k) == key {
			found = true
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(string(k))...), ':'), value...)
	}
	if !found {
		return object
	}
	return append(out, '}')
}

// canonical appends valid JSON so that equal values give equal bytes: without
// white space, keys in order, strings written in one way, numbers as they are.
func canonical(out []byte, value json.RawMessage) []byte {
	value = bytes.TrimSpace(value)
	switch value[0] {
	case '{':
		members := map[string]json.RawMessage{}
		for key, member := range jsonscan.Fields(value) {
			members[string(key)] = member
		}
		out = append(out, '{')
		for i, key := range slices.Sorted(maps.Keys(members)) {
			if i > 0 {
				out = append(out, ',')
			}
			out = canonical(append(append(out, quote(key)...), ':'), members[key])
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		first := len(out)
		for element := range jsonscan.Elements(value) {
			if len(element) == 0 {
				break // of an empty array
			}
			if len(out) > first {
				out = append(out, ',')
			}
			out = canonical(out, element)
		}
		return append(out, ']')
	case '"':
		text, _ := jsonscan.String(value)
		return append(out, quote(text)...)
	}
	return append(out, value...)
}

// leaves returns the canonical form of each value that holds no other, by path.
func leaves(value json.RawMessage) map[string]string {
	all := map[string]string{}
	addLeaves(all, "", value)
	return all
}

func addLeaves(all map[string]string, path string, value json.RawMessage) {
	value = bytes.TrimSpace(value)
	empty := true
	for key, member := range jsonscan.Fields(value) {
		empty = false
		step := string(key)
		if strings.ContainsAny(step, ".[]\" \n") || step == "" {
			step = string(quote(step))
		}
		if path != "" {
			step = path + "." + step
		}
		addLeaves(all, step, member)
	}
	i := 0
	for element := range jsonscan.Elements(value) {
		if len(element) == 0 {
			break // of an empty array
		}
		empty = false
		addLeaves(all, path+"["+strconv.Itoa(i)+"]", element)
		i++
	}
	if empty {
		all[path] = string(canonical(nil, value))
	}
}

func compare(recorded, got map[string]string) []Difference {
	var all []Difference
	for path, value := range recorded {
		if got[path] != value {
			all = append(all, Difference{path, value, got[path]})
		}
	}
	for path, value := range got {
		if _, ok := recorded[path]; !ok {
			all = append(all, Difference{path, "", value})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return all
}
