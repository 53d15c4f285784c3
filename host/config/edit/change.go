package edit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A change puts a value at a path in an entry, or takes away what is there if the value
// is nil.
type change struct {
	path  []string
	value json.RawMessage
}

// A scribe finds out what to change in one entry, but for the switch: see [draft.switched].
type scribe struct {
	draft   *draft
	title   string // it is to have
	at      *spot
	entry   map[string]json.RawMessage // what it is to say, in our words
	changes []change
}

func (s *scribe) put(value json.RawMessage, path ...string) {
	s.changes = append(s.changes, change{path, value})
}

// key notes what must change so that the entry says value, in our words, under a key of
// ours; nil is nothing. was is what it says now.
func (s *scribe) key(key string, value, was json.RawMessage) error {
	switch key {
	case "transport":
		return s.transport(value)
	case "command", "args":
		if s.draft.write.CommandLine {
			return s.commandLine()
		}
		return s.simple(value, key)
	case "url":
		return s.simple(value, key, "serverUrl", "httpUrl")
	case "enabled":
		return nil // see draft.switched
	case "connectTimeoutSeconds":
		return s.timeout(key, value, dialect.ConnectMilliseconds)
	case "readTimeoutSeconds":
		return s.timeout(key, value, "timeout", dialect.ReadMilliseconds)
	case "tools":
		return s.tools(value)
	case "env", "headers", "auth", "tls", "isolation", "limits":
		return s.object(key, value, was)
	default:
		return s.simple(value, key)
	}
}

// word is the key that the file's program has for one of ours.
func (s *scribe) word(key string) string {
	if word := s.draft.write.Keys[key]; word != "" {
		return word
	}
	if s.draft.doc.Dialect.Snake && slices.Contains(dialect.OwnKeys(), key) {
		return dialect.SnakeCase(key)
	}
	return key
}

// field returns what the entry says under a key of ours, and where that stands in it.
func (s *scribe) field(key string) (*dialect.Field, []string) {
	for i := range s.at.fields {
		f := &s.at.fields[i]
		if f.Key != key || f.Name != "" || f.Foreign {
			continue
		}
		if path, ok := s.inside(f.Value); ok {
			return f, path
		}
	}
	return nil, nil
}

// inside returns the path in the entry of one of its nodes.
func (s *scribe) inside(n *jsonc.Node) ([]string, bool) {
	if s.at.value == nil {
		return nil, false
	}
	return pathTo(s.at.value, n)
}

// errElsewhere is why something cannot be changed that is not a value of its own.
var errElsewhere = errors.New("is said in a form of the file's program that is not changed here: change it by hand")

// simple changes a value that stands as it is, under a key or one of others.
func (s *scribe) simple(value json.RawMessage, keys ...string) error {
	for _, key := range keys {
		f, path := s.field(key)
		if f == nil {
			continue
		}
		if value == nil || !equalJSON(value, f.Value.JSON()) {
			s.put(value, path...)
		}
		return nil
	}
	if value != nil {
		s.put(value, s.word(keys[0]))
	}
	return nil
}

func (s *scribe) transport(value json.RawMessage) error {
	var wanted string
	_ = json.Unmarshal(value, &wanted)
	byURL := cmp.Or(s.draft.write.URL, config.TransportAuto) // what a URL says by itself
	plainURL := wanted == byURL && s.entry["url"] != nil || wanted == config.TransportStdio && s.entry["command"] != nil
	for _, key := range []string{"type", "transport"} {
		f, path := s.field(key)
		switch {
		case f == nil || f.Value.Kind == jsonc.Object:
		case value == nil || plainURL && wanted == byURL:
			s.put(nil, path...)
			return nil
		default:
			if dialect.Transport(f.Value.Text) != wanted {
				s.put(quoteJSON(s.spelled(wanted)), path...)
			}
			return nil
		}
	}
	if f, path := s.field("httpUrl"); f != nil && wanted != config.TransportHTTP {
		s.put(nil, path...)
		s.put(s.entry["url"], s.word("url"))
	} else if f != nil {
		return nil
	}
	if write := s.draft.write; value != nil && (!plainURL || write.Always && write.Transports[wanted] != "") {
		if write.Strict && write.Transports[wanted] == "" {
			return &editError{file: s.draft.path, key: "transport",
				err: fmt.Errorf("a file of the format %s cannot say %s: use auto, which tries it", s.draft.doc.Dialect.Name, wanted)}
		}
		s.put(quoteJSON(s.spelled(wanted)), s.word("transport"))
	}
	return nil
}

// spelled is how the file's program writes a transport.
func (s *scribe) spelled(transport string) string {
	return cmp.Or(s.draft.write.Transports[transport], transport)
}

// timeout changes a number of seconds, which may stand there in milliseconds.
func (s *scribe) timeout(key string, value json.RawMessage, others ...string) error {
	if f, path := s.field(key); f != nil {
		s.put(value, path...)
		return nil
	}
	for _, other := range others {
		f, path := s.field(other)
		if f != nil && other == "timeout" && s.draft.doc.Seconds {
			s.put(value, path...)
			return nil
		}
		if f == nil || other == "timeout" && len(f.Value.Text) <= 3 { // less than a second is ignored, as the reader does
			continue
		}
		if seconds, err := strconv.ParseFloat(string(value), 64); err == nil && (seconds >= 1 || other != "timeout") {
			s.put(milliseconds(seconds), path...)
			return nil
		}
		s.put(nil, path...)
	}
	if value != nil {
		if seconds, err := strconv.ParseFloat(string(value), 64); err == nil && s.draft.write.Milliseconds && s.draft.write.Keys[key] != "" {
			value = milliseconds(seconds)
		}
		s.put(value, strings.Split(s.word(key), "/")...)
	}
	return nil
}

func milliseconds(seconds float64) json.RawMessage {
	return strconv.AppendFloat(nil, seconds*1000, 'f', -1, 64)
}

// commandLine writes the command and its arguments as one list, also in an entry that
// comes from a program with two keys.
func (s *scribe) commandLine() error {
	path := []string{s.word("command")}
	if f, at := s.field(dialect.CommandLine); f != nil {
		path = at
	}
	list := []json.RawMessage{s.entry["command"]}
	var args []json.RawMessage
	_ = json.Unmarshal(s.entry["args"], &args) // nil is none
	if list = append(list, args...); list[0] == nil {
		s.put(nil, path...)
	} else {
		s.put(marshalJSON(list), path...)
	}
	if f, at := s.field("args"); f != nil {
		s.put(nil, at...)
	}
	return nil
}

// object changes the members of an object one by one: some may be spelled otherwise, or be
// of others. What stands elsewhere, as variables and headers may, is not changed.
func (s *scribe) object(key string, value, was json.RawMessage) error {
	wanted, before := membersOf(value), membersOf(was)
	pairs := key == "env" || key == "headers"
	f, holder := s.field(key)
	if f == nil {
		holder = strings.Split(s.word(key), "/")
	}
	isObject := f != nil && f.Value.Kind == jsonc.Object
	whole := value == nil || !isObject && (!pairs || len(before) == 0)
	for _, name := range differing(before, wanted) {
		spelled := ""
		for i := 0; isObject && i < len(f.Value.Members); i++ {
			if theirs := f.Value.Members[i].Key; theirs == name || !pairs && isSpelling(theirs, name) {
				spelled = theirs
			}
		}
		if before[name] != nil && pairs && spelled == "" {
			return &editError{file: s.draft.path, key: string(jsonc.Path(key).Key(name)), err: errElsewhere}
		}
		if !whole {
			s.put(wanted[name], append(slices.Clone(holder), cmp.Or(spelled, name))...)
		}
	}
	if whole && (value != nil || f != nil) {
		s.put(value, holder...)
	}
	return nil
}

// isSpelling reports whether a key of a file is one of ours.
func isSpelling(key, ours string) bool {
	return strings.EqualFold(key, dialect.SnakeCase(ours)) || slices.Contains([]string{"redirect_uri", "redirectUri", "callback_url"}, key) && ours == "redirectUrl" || key == "extra_params" && ours == "loginParams"
}

// tools changes the lists of tools, each where it stands: in our section, in "tools" of
// Copilot CLI, or under keys of their own.
func (s *scribe) tools(value json.RawMessage) error {
	wanted := membersOf(value)
	section, path := s.field("tools")
	if section == nil {
		path = []string{s.word("tools")}
	}
	isList := section != nil && section.Value.Kind == jsonc.Array // of those that are allowed
	if isList && wanted["rename"] != nil {
		return &editError{file: s.draft.path, key: "tools.rename", err: errElsewhere}
	}
	rest := map[string]json.RawMessage{} // what our section is to say
	lists := map[string][]string{"allow": {"includeTools"}, "deny": {"excludeTools", "disabledTools"}}
	for _, key := range []string{"allow", "deny", "rename"} {
		word, want := s.draft.write.Keys["tools."+key], wanted[key]
		switch {
		case section != nil && section.Value.Member(key) != nil:
			rest[key] = want
		case s.otherLists(lists[key], want):
		case isList && want != nil:
			s.put(want, map[string]string{"allow": path[0], "deny": "excludeTools"}[key])
		case isList && key == "allow":
			if !slices.ContainsFunc(section.Value.Elems, func(n jsonc.Node) bool { return n.Text == dialect.AllTools }) {
				s.put(marshalJSON([]string{dialect.AllTools}), path...)
			}
		case word != "" && want != nil:
			s.put(want, word)
		case want != nil:
			rest[key] = want
		}
	}
	maps.DeleteFunc(rest, func(_ string, want json.RawMessage) bool { return want == nil })
	switch {
	case isList:
	case len(rest) == 0 && section != nil:
		s.put(nil, path...)
	case len(rest) > 0:
		s.put(marshalJSON(rest), path...)
	}
	return nil
}

// otherLists changes a list of tools that stands under other keys, the first of which gets
// what is new. It reports whether there is one.
func (s *scribe) otherLists(keys []string, want json.RawMessage) (found bool) {
	var left []string
	_ = json.Unmarshal(want, &left) // nil is none
	for i, key := range slices.Backward(keys) {
		f, path := s.field(key)
		if f == nil || f.Value.Kind != jsonc.Array {
			continue
		}
		found = true
		kept := []string{}
		for _, n := range f.Value.Elems {
			name := n.Text
			if key != "disabledTools" {
				name = dialect.CutArguments([]string{n.Text})[0]
			}
			if slices.Contains(left, name) {
				kept = append(kept, n.Text)
			}
		}
		left = slices.DeleteFunc(left, func(name string) bool {
			return slices.ContainsFunc(kept, func(text string) bool { return text == name || dialect.CutArguments([]string{text})[0] == name })
		})
		if first := !slices.ContainsFunc(keys[:i], func(k string) bool { f, _ := s.field(k); return f != nil }); first {
			kept = append(kept, left...)
		}
		if len(kept) == 0 && want == nil {
			s.put(nil, path...)
		} else {
			s.put(marshalJSON(kept), path...)
		}
	}
	return found
}

// membersOf returns the members of a JSON object.
func membersOf(object json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members) // nil is no member
	return members
}

// equalJSON reports whether two JSON values mean the same; nil is no value.
func equalJSON(a, b json.RawMessage) bool {
	return (a == nil) == (b == nil) && canonjson.Same(a, b)
}

func quoteJSON(text string) json.RawMessage { return canonjson.AppendString(nil, text) }

// marshalJSON encodes lists and maps of text, which cannot fail.
func marshalJSON(v any) json.RawMessage {
	data, _ := canonjson.Marshal(v)
	return data
}
