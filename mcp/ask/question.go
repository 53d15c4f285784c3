package ask

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

// The actions of an answer.
const (
	accept  = "accept"
	decline = "decline"
	cancel  = "cancel"
)

// The kinds of questions.
const (
	kindForm   = "form"
	kindURL    = "url"
	kindSample = "sample"
	kindReply  = "reply"
)

// A Question is one that waits in a [Queue]. It can be marshaled as JSON. All but
// ID, Kind, Server, Host, Warnings and the times is from the server or a model and
// not to be trusted: escape it where it is shown. What a Question refers to must
// not be changed.
type Question struct {
	// ID names the question for [Queue.Answer]. It is random.
	ID string `json:"id"`
	// Kind says which of the other fields there are: "form", a form to be filled in; "url", a page
	// to be visited; "sample", a conversation that a server wants the model to go on with; "reply",
	// the model's answer to it, before the server gets it.
	Kind string `json:"kind"`
	// Server is the name of the server that asks, as given to [mcp.NewClient].
	Server string `json:"server"`
	// Message is why the server asks, of "form" and "url".
	Message string `json:"message,omitempty"`
	// Fields are those of the form, in the server's order, of "form".
	Fields []form.Field `json:"fields,omitempty"`
	// URL is the page to be visited, http or https, of "url". Show all of it.
	URL string `json:"url,omitempty"`
	// Host is its host: what to highlight.
	Host string `json:"host,omitempty"`
	// Warnings are reasons to look twice at the form or the page, as sentences.
	Warnings []string `json:"warnings,omitempty"`
	// Sample is the conversation, of "sample" and "reply".
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	Sample *mcp.SampleParams `json:"sample,omitempty"`
	// Reply is what the model answered, of "reply".
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	Reply *mcp.SampleResult `json:"reply,omitempty"`
	// Asked is when the question was put.
	Asked time.Time `json:"asked"`
	// Deadline is when the question ends without an answer. It is zero if that
	// is not known; a question can end before.
	Deadline time.Time `json:"deadline,omitzero"`
}
