package otel

import (
	"encoding/json"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
)

const (
	maxName = 128     // bytes of a name of a tool, a prompt or a method, and of the id of a call
	maxURI  = 512     // bytes of a URI
	maxID   = 64      // bytes of the id of a request
	maxText = 4 << 10 // bytes of arguments, results and messages
)

// facts are the attributes of one operation, as far as they are allowed.
type facts struct {
	span   []attribute.KeyValue
	metric []attribute.KeyValue // those with few values
}

// both adds an attribute to span and measurement, if it is allowed.
func (t *Telemetry) both(f *facts, kv attribute.KeyValue) {
	if t.allowed[kv.Key] {
		f.span = append(f.span, kv)
		f.metric = append(f.metric, kv)
	}
}

// detail adds an attribute to the span only, if it is allowed.
func (t *Telemetry) detail(f *facts, kv attribute.KeyValue) {
	if t.allowed[kv.Key] {
		f.span = append(f.span, kv)
	}
}

// newFacts returns facts with room for what an operation usually has.
func newFacts() facts {
	return facts{span: make([]attribute.KeyValue, 0, 6), metric: make([]attribute.KeyValue, 0, 12)}
}

// name adds a name that others have chosen: to the measurement as far as it is one
// of not too many. It returns what to call it there.
func (t *Telemetry) name(f *facts, server string, key attribute.Key, raw string) string {
	name, known := t.names.find(server, key, raw)
	if !known {
		name = t.word(raw, maxName)
		known = t.names.add(server, key, raw, name)
	}
	shown := name
	if !known {
		shown = other
	}
	if t.allowed[key] {
		f.span = append(f.span, key.String(name))
		f.metric = append(f.metric, key.String(shown))
	}
	return shown
}

// word returns text of others in one line, cut and without secrets.
func (t *Telemetry) word(text string, most int) string {
	if len(text) > 4*most {
		text = text[:4*most] // before it is looked at closely
	}
	return cut(line(t.redact.RedactText(strings.ToValidUTF8(text, "\uFFFD"))), most)
}

// line returns text with a space for white space, and a mark for what cannot be seen.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, text)
}

// text is word for what may be long.
func (t *Telemetry) text(text string) string { return t.word(text, maxText) }

// json returns JSON without secrets, cut.
func (t *Telemetry) json(value json.RawMessage) string {
	if len(value) > 16*maxText {
		return "" // it is not read for the little that would remain
	}
	return cut(strings.ToValidUTF8(string(t.redact.RedactJSON(value)), "\uFFFD"), maxText)
}

// cut cuts text behind a whole character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// uri returns the URI of a resource without what is likely to be secret: user,
// query and fragment, and all behind the scheme where there is no path, as in data:.
// It is empty if it cannot be read.
func (t *Telemetry) uri(text string) string {
	if len(text) > 16*maxURI {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	if u.Opaque != "" && u.Scheme != "urn" {
		return t.word(u.Scheme, maxURI) + ":"
	}
	return t.word(u.String(), maxURI)
}

// address adds where a server is, by its origin.
func (t *Telemetry) address(f *facts, origin string) {
	t.both(f, keyTransport.String("tcp"))
	t.both(f, keyNetwork.String("http"))
	scheme, host, _ := strings.Cut(origin, "://")
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
		if scheme == "https" {
			port = "443"
		}
	}
	t.both(f, keyAddress.String(name))
	if n, err := strconv.Atoi(port); err == nil {
		t.both(f, keyPort.Int(n))
	}
}

// names are the names that are told apart, for each server, and what they are
// without what does not belong there.
type names struct {
	max int

	mu    sync.RWMutex // guards the following
	known map[nameKey]string
	count map[string]int // by server
}

type nameKey struct {
	server string
	key    attribute.Key
	name   string
}

// maxServers bounds the servers whose names are told apart.
const maxServers = 1000

// find returns what a name is called that is told apart already.
func (n *names) find(server string, key attribute.Key, raw string) (name string, known bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	name, known = n.known[nameKey{server, key, raw}]
	return name, known
}

// add reports whether a name can be told apart as well.
func (n *names) add(server string, key attribute.Key, raw, name string) bool {
	if n.max < 0 || len(raw) > 4*maxName || name == other {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known, n.count = map[nameKey]string{}, map[string]int{}
	}
	if _, ok := n.known[nameKey{server, key, raw}]; !ok {
		if n.count[server] >= n.max || n.count[server] == 0 && len(n.count) >= maxServers {
			return false
		}
		n.count[server]++
	}
	n.known[nameKey{server, key, strings.Clone(raw)}] = strings.Clone(name) // not the message that they are of
	return true
}

// wellKnown reports whether a method is one of the protocol, which need not be counted.
func wellKnown(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "subscriptions/listen",
		"tools/list", "tools/call", "prompts/list", "prompts/get",
		"resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe",
		"completion/complete", "logging/setLevel", "elicitation/create", "sampling/createMessage", "roots/list",
		"tasks/get", "tasks/list", "tasks/cancel", "tasks/result", "tasks/update",
		"notifications/initialized", "notifications/cancelled", "notifications/message", "notifications/progress",
		"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/tools/list_changed",
		"notifications/resources/updated", "notifications/roots/list_changed", "notifications/tasks/status",
		"notifications/elicitation/complete", "notifications/subscriptions/acknowledged":
		return true
	}
	return false
}

// method adds the method, and returns what to call it.
func (t *Telemetry) method(f *facts, server, method string) string {
	if wellKnown(method) {
		t.both(f, keyMethod.String(method))
		return method
	}
	return t.name(f, server, keyMethod, method)
}

// quiet reports whether a notification comes so often that it gets no span.
func quiet(method string) bool {
	return method == "notifications/progress" || method == "notifications/message"
}
