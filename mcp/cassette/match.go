package cassette

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
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
// no more. Nothing in it is a secret that a [Recorder] would redact. Its text shows how the
// message differs from the nearest one that was recorded.
//
//cure:record again, or make the program send what it sent then
type UnrecordedError struct {
	file   string          // as given to [Replay]
	method string          // of the request
	params json.RawMessage // of the request, or the answer to one of the server, without _meta
	// recorded is how often the very same request was recorded. If it is not
	// zero, all its answers were given already.
	recorded int
	// nearest holds the params of the recorded request of the same method that differs
	// least; nil if there is none.
	nearest json.RawMessage
}

func (e *UnrecordedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cassette: %s: %s %s ", e.file, e.method, shorten(string(e.params), maxShownParams))
	switch {
	case e.recorded > 0:
		fmt.Fprintf(&b, "was recorded %d times and is now asked once more", e.recorded)
	case e.nearest == nil:
		b.WriteString("was not recorded, nor was any other of this method")
	default:
		b.WriteString("was not recorded; nearest differs in")
		differences := compare(leaves(decisive(e.method, e.nearest)), leaves(decisive(e.method, e.params)))
		for i, d := range differences {
			if i == maxShownDifferences {
				fmt.Fprintf(&b, "\n\tand %d more", len(differences)-i)
				break
			}
			b.WriteString("\n\t" + d)
		}
	}
	return b.String()
}

// Outcome returns [mcp.NotSent].
func (e *UnrecordedError) Outcome() mcp.Outcome { return mcp.NotSent }

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// newUnrecorded returns an error about a request, for which it looks for the
// nearest among the candidates.
func newUnrecorded(file, method string, params json.RawMessage, recorded int, candidates []*turn) *UnrecordedError {
	e := &UnrecordedError{file: file, method: method, params: params, recorded: recorded}
	if recorded > 0 {
		e.nearest = params
		return e
	}
	got, least := leaves(decisive(method, params)), 0
	for _, t := range candidates {
		if t.Request != method {
			continue
		}
		if n := len(compare(leaves(decisive(method, t.Params)), got)); e.nearest == nil || n < least {
			e.nearest, least = decisive(method, t.Params), n
		}
	}
	return e
}

// requestKey returns what equal requests have in common and others do not.
func requestKey(method string, params json.RawMessage) string {
	return method + " " + string(canonjson.AppendChecked(nil, decisive(method, params)))
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
	params = canonjson.Without(params, "_meta")
	if method == "initialize" {
		params = canonjson.Without(canonjson.Without(params, "clientInfo"), "capabilities")
	}
	if params == nil {
		return json.RawMessage("{}")
	}
	return params
}

// leaves returns the canonical form of each value that holds no other, by path.
func leaves(value json.RawMessage) map[string]string {
	all := map[string]string{}
	addLeaves(all, "", value)
	return all
}

func addLeaves(all map[string]string, path string, value json.RawMessage) {
	before := len(all)
	for key, member := range jsonscan.Fields(value) {
		addLeaves(all, strings.TrimPrefix(path+"."+string(key), "."), member)
	}
	i := 0
	for element := range jsonscan.Elements(value) {
		if len(element) > 0 { // or the array is empty
			addLeaves(all, path+"["+strconv.Itoa(i)+"]", element)
		}
		i++
	}
	if len(all) == before {
		all[path] = string(canonjson.AppendChecked(nil, value))
	}
}

// compare says where two values differ, ordered by path.
func compare(recorded, got map[string]string) (all []string) {
	shown := func(text string) string { return shorten(cmp.Or(text, "nothing"), maxShownValue) }
	note := func(path, was, is string) {
		all = append(all, fmt.Sprintf("%s: recorded %s, got %s", path, shown(was), shown(is)))
	}
	for path, value := range recorded {
		if got[path] != value {
			note(path, value, got[path])
		}
	}
	for path, value := range got {
		if _, ok := recorded[path]; !ok {
			note(path, "", value)
		}
	}
	slices.Sort(all)
	return all
}
