package adaptertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

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

// declare adds a tool to those that the model is told of. It refuses one for which there are
// problems, and one whose name is there already.
func (r *Request) declare(t Tool, problems []string) error {
	if len(problems) > 0 {
		return fmt.Errorf("the tool %q: %s", t.Name, strings.Join(problems, "; "))
	}
	if slices.ContainsFunc(r.Tools, func(other Tool) bool { return other.Name == t.Name }) {
		return fmt.Errorf("the name %q is there twice", t.Name)
	}
	r.Tools = append(r.Tools, t)
	return nil
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
	Text  string
	Calls []Call
}

// A Call is a call that the model writes.
type Call struct {
	ID        string // unique in the conversation
	Name      string
	Arguments json.RawMessage // a JSON object
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
