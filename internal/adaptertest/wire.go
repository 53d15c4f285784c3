package adaptertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/providercheck"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A Wire is the format of a provider, as the provider sees it.
type Wire interface {
	// Read reads a request of the runtime. A request that the provider would refuse is an
	// error: names and schemas that it does not take, calls without a result, results
	// without a call, empty texts, images that are none.
	Read(r *http.Request, body []byte) (*Request, error)
	// Write answers a request with a reply of the model.
	Write(w http.ResponseWriter, req *Request, reply Reply)
	// Refuse answers a request that is refused with the text of an error.
	Refuse(w http.ResponseWriter, reason string)
}

// A Request is what a runtime has sent to its model.
type Request struct {
	Tools   []Tool   // that the model is told of
	Results []Result // of tools, in the whole conversation, in order
	Media   []Media  // in messages that are no results, in order
	Users   []string // texts of the user, in order
	Stream  bool     // the answer has to be a stream
}

// A Tool is a tool that a model is told of.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
	Deferred          bool
}

// A Result is the result of a tool, as a model gets it.
type Result struct {
	CallID string // empty where the provider has none
	Name   string // of the tool; empty where the provider does not say
	Text   string // all texts, parted by line feeds
	Media  []Media
	Failed bool // the provider is told that the tool failed
}

// Media is an image or a file that a model gets.
type Media struct {
	Type string // media type
	Data []byte
}

// A Reply is what the model says: text, or calls, or both.
type Reply struct {
	// Thought is what the model thought before: nothing, "whole", or "redacted". "cut" is at
	// its end, and was cut off.
	Thought string
	Text    string
	Calls   []Call
	// OneIndex says that a stream gives all calls one index.
	OneIndex bool
}

// A Call is a call that the model writes.
type Call struct {
	ID        string // unique in the conversation
	Name      string
	Arguments json.RawMessage // a JSON object
}

// A conversation is a request that is read message by message.
type conversation struct {
	*Request
	body *providercheck.Node
	open []Call          // that have no result yet, in order
	ids  map[string]bool // of all calls
}

// begin reads the body of a request, which has to follow a rule of providercheck.
func begin(r *http.Request, path bool, body []byte, rule string) (*conversation, error) {
	if r.Method != http.MethodPost || !path {
		return nil, fmt.Errorf("no such endpoint: %s %s", r.Method, r.URL)
	}
	if err := jsonscan.Valid(body); err != nil {
		return nil, fmt.Errorf("the request body is not valid JSON: %w", err)
	}
	n, problems := providercheck.Follow(rule, body)
	if problems != nil {
		return nil, fmt.Errorf("invalid request: %s", strings.Join(problems, "; "))
	}
	return &conversation{Request: &Request{Stream: n.Get("stream").IsTrue()}, body: n, ids: map[string]bool{}}, nil
}

// each reads the elements of a list of the request, one by one.
func (c *conversation) each(list string, read func(i int, n *providercheck.Node) error) error {
	for i, n := range c.body.Get(list).List() {
		if err := read(i, n); err != nil {
			return fmt.Errorf("%s.%d: %w", list, i, err)
		}
	}
	return nil
}

// declare adds a tool to those that the model is told of: its declaration, and the part that
// has its name and its schema. It refuses one that the provider refuses, and one whose name is
// there already.
func (c *conversation) declare(declaration, part, schema *providercheck.Node, check func([]byte) []string) error {
	t := Tool{Name: part.Str("name"), Description: part.Str("description"), Deferred: part.Get("defer_loading").IsTrue()}
	if problems := check([]byte(declaration.Write())); len(problems) > 0 {
		return fmt.Errorf("the tool %q: %s", t.Name, strings.Join(problems, "; "))
	}
	if slices.ContainsFunc(c.Tools, func(other Tool) bool { return other.Name == t.Name }) {
		return fmt.Errorf("the name %q is there twice", t.Name)
	}
	if schema != nil {
		t.Schema = json.RawMessage(schema.Write())
	}
	c.Tools = append(c.Tools, t)
	return nil
}

// call reads a call of the model. An id is empty where the provider has none.
func (c *conversation) call(id, name string) error {
	if id != "" && c.ids[id] {
		return fmt.Errorf("the id of the call %q is not unique", id)
	}
	c.ids[id] = true
	c.open = append(c.open, Call{ID: id, Name: name})
	return nil
}

// result reads the result of the call with an id, or of the next one.
func (c *conversation) result(r Result, next bool) error {
	i := slices.IndexFunc(c.open, func(call Call) bool { return call.ID == r.CallID && (r.Name == "" || call.Name == r.Name) })
	if i < 0 || next && i > 0 {
		return fmt.Errorf("the result %q of %q is that of no call, or not of the next one: %v", r.CallID, r.Name, c.open)
	}
	r.Name = c.open[i].Name
	c.open = slices.Delete(c.open, i, i+1)
	c.Results = append(c.Results, r)
	return nil
}

// answered refuses what stands where calls have no result yet.
func (c *conversation) answered() error {
	if len(c.open) > 0 {
		return fmt.Errorf("calls without a result immediately behind them: %v", c.open)
	}
	return nil
}

// said reads what is no result in a message of the user. What has media stands behind results.
func (c *conversation) said(text string, media []Media) {
	if c.Media = append(c.Media, media...); len(media) == 0 {
		c.Users = append(c.Users, text)
	}
}

// content reads a text, or parts: texts, which have a member text, and media, of which media
// returns the type and the bytes in base64. It refuses bytes that are not of their type.
func content(n *providercheck.Node, media func(part *providercheck.Node) (kind, data string)) (text string, all []Media, err error) {
	texts := []string{n.StringValue()}
	if n.Is('[') {
		texts = nil
	}
	for _, part := range n.List() {
		if t := part.Get("text"); t != nil {
			texts = append(texts, t.Text)
			continue
		}
		kind, data := media(part)
		raw, err := base64.StdEncoding.DecodeString(data)
		if seen := http.DetectContentType(raw); err != nil || kind != seen {
			return "", nil, fmt.Errorf("media of type %s that is %s: %w", kind, seen, err)
		}
		all = append(all, Media{kind, raw})
	}
	return strings.Join(texts, "\n"), all, nil
}

// having returns a list of the elements of a list that have one of the members.
func having(list *providercheck.Node, members ...string) *providercheck.Node {
	all := &providercheck.Node{Kind: '['}
	for _, n := range list.List() {
		if slices.ContainsFunc(members, func(m string) bool { return n.Get(m) != nil }) {
			all.Items = append(all.Items, n)
		}
	}
	return all
}

// cutURL returns the type and the data of a data URL.
func cutURL(url string) (kind, data string) {
	kind, data, _ = strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	return kind, data
}

// An object is a JSON object that a model answers with, or what is in one.
type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// events begins a stream, and returns what writes its events: the kind, if the wire names it,
// and the data.
func events(w http.ResponseWriter) func(kind string, data any) {
	w.Header().Set("Content-Type", "text/event-stream")
	return func(kind string, data any) {
		text, _ := json.Marshal(data) // of the kit's own
		if kind != "" {
			kind = "event: " + kind + "\n"
		}
		_, _ = fmt.Fprintf(w, "%sdata: %s\n\n", kind, text)
	}
}

// halves parts a text in the middle, as a stream may.
func halves(text string) []string { return []string{text[:len(text)/2], text[len(text)/2:]} }

// failed reports whether the model can know that a tool failed.
func (r Result) failed() bool {
	return r.Failed || strings.Contains(r.Text, profile.Failure)
}
