//lint:file-ignore SA1019 Logging is deprecated since revision 2026-07-28, and works.

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	aboutURI = "features://about"
	about    = "A server that uses every feature of the protocol once. It keeps a journal."

	maxCompletions = 100 // as the protocol says
)

// newServer returns a server that keeps a journal. It speaks only the given
// revision, or all if that is empty.
func newServer(a *accounts, jobs *tasks, revision string, log *slog.Logger) *mcp.Server {
	j := &journal{}
	opts := &mcp.ServerOptions{
		Instructions:      "Tries out the features of a client. The journal is empty at first.",
		Logger:            log,
		Capabilities:      &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
		CompletionHandler: j.complete,
		// The SDK keeps the list of subscribers; these could refuse one.
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	if revision != "" {
		opts.SupportedProtocolVersions = []string{revision}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "features", Title: "Features", Version: "1.0.0"}, opts)
	addTools(s, j, a)
	addResources(s, j)
	addPrompts(s, j)
	jobs.serve(s)
	return s
}

func addResources(s *mcp.Server, j *journal) {
	s.AddResource(&mcp.Resource{
		URI: aboutURI, Name: "about", Title: "About this server",
		Description: "What the server is for.", MIMEType: "text/plain",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(aboutURI, about), nil
	})
	s.AddResource(&mcp.Resource{
		URI: journalURI, Name: "journal", Title: "The journal",
		Description: "All entries, numbered. It changes with each call of append.", MIMEType: "text/plain",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(journalURI, j.text()), nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: entryURI + "{number}", Name: "entry", Title: "An entry of the journal",
		Description: "The text of one entry.", MIMEType: "text/plain",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, ok := j.entry(strings.TrimPrefix(req.Params.URI, entryURI))
		if !ok {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return contents(req.Params.URI, text), nil
	})
}

func contents(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}
}

func addPrompts(s *mcp.Server, j *journal) {
	s.AddPrompt(&mcp.Prompt{
		Name: "review", Title: "Review the journal",
		Description: "Ask for a review of the journal.",
		Arguments: []*mcp.PromptArgument{
			{Name: "topic", Title: "Topic", Description: "what the review is to look at", Required: true},
			{Name: "language", Title: "Language", Description: "of the review; English if left out"},
		},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		topic, language := req.Params.Arguments["topic"], req.Params.Arguments["language"]
		if topic == "" {
			return nil, invalid("the argument topic is missing")
		}
		language = cmp.Or(language, "English")
		return &mcp.GetPromptResult{
			Description: "A review of the journal",
			Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.EmbeddedResource{Resource: contents(journalURI, j.text()).Contents[0]}},
				{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf("Review this journal. Look at %s. Answer in %s.", topic, language)}},
			},
		}, nil
	})
}

// complete suggests languages for the prompt and numbers for the entries.
func (j *journal) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var all []string
	switch ref, arg := req.Params.Ref, req.Params.Argument.Name; {
	case ref.Type == "ref/prompt" && ref.Name == "review" && arg == "language":
		all = []string{"Deutsch", "English", "Español", "Esperanto", "Français"}
	case ref.Type == "ref/prompt" && ref.Name == "review": // nothing to suggest
	case ref.Type == "ref/resource" && ref.URI == entryURI+"{number}" && arg == "number":
		all = j.numbers()
	default:
		return nil, invalid("there is nothing to complete for " + ref.Name + ref.URI)
	}
	found := []string{} // the protocol asks for an array, not null
	for _, value := range all {
		if strings.HasPrefix(strings.ToLower(value), strings.ToLower(req.Params.Argument.Value)) {
			found = append(found, value)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values:  found[:min(len(found), maxCompletions)],
		Total:   len(found),
		HasMore: len(found) > maxCompletions,
	}}, nil
}

const (
	journalURI = "journal://all"
	entryURI   = "journal://entries/" // and the entry's number
)

// A journal is the part of the server that changes: lines, counted from 1.
type journal struct {
	mu      sync.Mutex
	entries []string
}

// add returns the number of the new entry.
func (j *journal) add(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, text)
	return len(j.entries)
}

// text is never empty: the SDK would leave it out of a resource.
func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b strings.Builder
	b.WriteString("Journal\n")
	for i, e := range j.entries {
		fmt.Fprintf(&b, "%d. %s\n", i+1, e)
	}
	return b.String()
}

func (j *journal) entry(number string) (string, bool) {
	n, err := strconv.Atoi(number)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil || n < 1 || n > len(j.entries) {
		return "", false
	}
	return j.entries[n-1], true
}

// numbers are those of all entries.
func (j *journal) numbers() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	numbers := make([]string, len(j.entries))
	for i := range numbers {
		numbers[i] = strconv.Itoa(i + 1)
	}
	return numbers
}
