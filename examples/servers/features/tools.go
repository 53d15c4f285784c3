//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// step is how long one step of a tool takes that reports how far it is.
const step = 50 * time.Millisecond

type (
	nothing     struct{}
	appendInput struct {
		Text string `json:"text" jsonschema:"the line to write"`
	}
	appendOutput struct {
		Number int    `json:"number" jsonschema:"the entry's number, from 1"`
		URI    string `json:"uri" jsonschema:"the resource that holds the entry"`
	}
	countInput struct {
		To int `json:"to"`
	}
	measureInput struct {
		Text string `json:"text" jsonschema:"the text to measure"`
	}
	measureOutput struct {
		Lines      int `json:"lines"`
		Words      int `json:"words"`
		Characters int `json:"characters"`
	}
	researchInput struct {
		Topic string `json:"topic" jsonschema:"what to look into"`
		Steps int    `json:"steps,omitempty" jsonschema:"how many sources to read; 3 if left out"`
	}
)

func addTools(s *mcp.Server, j *journal, a *accounts) {
	closed := false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}
	adds := &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: &closed}

	mcp.AddTool(s, &mcp.Tool{
		Name: "append", Title: "Write into the journal", Annotations: adds,
		Description: "Write a line into the journal, tell the subscribers, and log it.",
	}, func(ctx context.Context, req *mcp.CallToolRequest, in appendInput) (*mcp.CallToolResult, appendOutput, error) {
		number := j.add(in.Text)
		// A client that went away or subscribed to nothing is no reason to fail.
		_ = s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: journalURI})
		_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{
			Level: "info", Logger: "journal", Data: fmt.Sprintf("entry %d was written", number),
		})
		return nil, appendOutput{number, fmt.Sprintf("%s%d", entryURI, number)}, nil
	})
	mcp.AddTool(s, &mcp.Tool{
		Name: "measure", Title: "Measure a text", Annotations: reads,
		Description: "Count the lines, words and characters of a text.",
	}, measure)
	mcp.AddTool(s, &mcp.Tool{
		Name: "count", Title: "Count", Annotations: reads, InputSchema: between[countInput]("to", "how far to count", 1, 100),
		Description: "Count slowly and report progress meanwhile.",
	}, count)
	mcp.AddTool(s, &mcp.Tool{
		Name: "introduce", Title: "Introduce the user", Annotations: reads,
		Description: "Ask the user for name, language and more, and return an introduction.",
	}, introduce)
	mcp.AddTool(s, &mcp.Tool{
		Name: "connect_account", Title: "Connect an account", Annotations: adds,
		Description: "Send the user to a web page to connect an account.",
	}, a.connect)
	mcp.AddTool(s, &mcp.Tool{
		Name: "summarize", Title: "Summarize the journal", Annotations: reads,
		Description: "Have the client's model summarize the journal.",
	}, j.summarize)
	mcp.AddTool(s, &mcp.Tool{
		Name: "list_roots", Title: "List the client's roots", Annotations: reads,
		Description: "List the folders that the client opens to servers.",
	}, listRoots)

	mcp.AddTool(s, &mcp.Tool{
		Name: "research", Title: "Research a topic", Annotations: reads,
		InputSchema: between[researchInput]("steps", "how many sources to read; 3 if left out", 1, 100),
		Description: "Look into a topic, slowly; as a task where the protocol has them.",
	}, research)
	mcp.AddTool(s, &mcp.Tool{
		Name: "publish", Title: "Publish the journal", Annotations: adds,
		Description: "Publish the journal, after asking the user for a title; as a task where the protocol has them.",
	}, j.publish)
}

// between returns the schema of an input with bounds for one whole number.
func between[In any](property, description string, least, most float64) *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // the type is one of the above
	}
	p := schema.Properties[property]
	p.Description, p.Minimum, p.Maximum = description, &least, &most
	return schema
}

func measure(_ context.Context, _ *mcp.CallToolRequest, in measureInput) (*mcp.CallToolResult, measureOutput, error) {
	return nil, measureOutput{
		Lines:      len(strings.Split(in.Text, "\n")),
		Words:      len(strings.Fields(in.Text)),
		Characters: len([]rune(in.Text)),
	}, nil
}

func count(ctx context.Context, req *mcp.CallToolRequest, in countInput) (*mcp.CallToolResult, any, error) {
	for i := 1; i <= in.To; i++ {
		if err := pause(ctx); err != nil {
			return nil, nil, err
		}
		report(ctx, req, i, in.To, fmt.Sprintf("counted to %d", i))
	}
	return text(fmt.Sprintf("counted to %d", in.To)), nil, nil
}

// introduce asks by returning a question instead of a result, and is called
// again with the answer. The SDK asks clients of the older revisions in the
// course of the call.
func introduce(_ context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
	const key = "person"
	answer, asked := req.Params.InputResponses[key].(*mcp.ElicitResult)
	switch {
	case !asked && !canAsk(req, "form"):
		return nil, nil, missing(req, `{"elicitation":{"form":{}}}`)
	case !asked:
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: &mcp.ElicitParams{
			Mode:    "form",
			Message: "Who are you?",
			RequestedSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"name": {"type": "string", "title": "Name", "minLength": 1, "maxLength": 80},
					"language": {"type": "string", "title": "Language", "oneOf": [
						{"const": "de", "title": "Deutsch"}, {"const": "en", "title": "English"}, {"const": "fr", "title": "Français"}
					], "default": "en"},
					"years": {"type": "integer", "title": "Years of experience", "minimum": 0, "maximum": 99},
					"newsletter": {"type": "boolean", "title": "Send me the newsletter", "default": false}
				},
				"required": ["name"]
			}`),
		}}}, nil, nil
	case answer.Action != "accept":
		return text("The user did not want to be introduced."), nil, nil
	}
	// An answer comes from the client, so it may be anything.
	name, _ := answer.Content["name"].(string)
	if name == "" {
		return nil, nil, errors.New("the answer has no name")
	}
	greeting := cmp.Or(map[any]string{"de": "Das ist", "fr": "Voici"}[answer.Content["language"]], "This is")
	introduction := fmt.Sprintf("%s %s", greeting, name)
	if years, ok := answer.Content["years"].(float64); ok {
		introduction += fmt.Sprintf(" (%.0f)", years)
	}
	if answer.Content["newsletter"] == true {
		introduction += ", who reads the newsletter"
	}
	return text(introduction + "."), nil, nil
}

// connect sends the user to the page and waits there for the user: that the
// client accepts means only that the user is on the way.
func (a *accounts) connect(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
	const key = "visit"
	answer, asked := req.Params.InputResponses[key].(*mcp.ElicitResult)
	// The state came back through the client. It is worth nothing to a user who was not
	// invited.
	invitation := req.Params.RequestState
	switch {
	case !asked && !canAsk(req, "url"):
		return nil, nil, missing(req, `{"elicitation":{"url":{}}}`)
	case !asked:
		// A client that went away is no reason to fail.
		outlasting := context.WithoutCancel(ctx)
		id := a.invite(func(id string) {
			_ = req.Session.NotifyElicitationComplete(outlasting, &mcp.ElicitationCompleteParams{ElicitationID: id})
		})
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{key: &mcp.ElicitParams{
				Mode:          "url",
				Message:       "Connect your account on this page.",
				URL:           a.base + id,
				ElicitationID: id,
			}},
			RequestState: id,
		}, nil, nil
	case answer.Action != "accept":
		a.withdraw(invitation)
		return text("The user did not want to connect an account."), nil, nil
	}
	if err := a.await(ctx, invitation); err != nil {
		return nil, nil, err
	}
	return text("The account is connected."), nil, nil
}

func (j *journal) summarize(_ context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
	const key = "summary"
	answer, asked := req.Params.InputResponses[key].(*mcp.CreateMessageWithToolsResult)
	if !asked {
		if caps := req.ClientCapabilities(); caps == nil || caps.Sampling == nil {
			return nil, nil, missing(req, `{"sampling":{}}`)
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: &mcp.CreateMessageParams{
			SystemPrompt: "You summarize journals in one sentence.",
			Messages:     []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: j.text()}}},
			MaxTokens:    100,
		}}}, nil, nil
	}
	res := text("Summary by " + answer.Model + ":")
	res.Content = append(res.Content, answer.Content...)
	return res, nil, nil
}

func listRoots(_ context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
	const key = "roots"
	answer, asked := req.Params.InputResponses[key].(*mcp.ListRootsResult)
	if !asked {
		if caps := req.ClientCapabilities(); caps == nil || caps.RootsV2 == nil {
			return nil, nil, missing(req, `{"roots":{}}`)
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: &mcp.ListRootsParams{}}}, nil, nil
	}
	list := "The client's roots:"
	for _, root := range answer.Roots {
		list += fmt.Sprintf("\n%s %s", root.URI, root.Name)
	}
	return text(list), nil, nil
}

// research may run as a task or not; it need not know.
func research(ctx context.Context, req *mcp.CallToolRequest, in researchInput) (*mcp.CallToolResult, any, error) {
	steps := cmp.Or(in.Steps, 3)
	for i := 1; i <= steps; i++ {
		report(ctx, req, i-1, steps, fmt.Sprintf("reading source %d of %d", i, steps))
		if err := pause(ctx); err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("Read %d sources about %s.", steps, in.Topic)), nil, nil
}

// publish asks the user and waits for the answer: as a task by the state of the task,
// else in the course of the call, which the older revisions allow.
func (j *journal) publish(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
	if !canAsk(req, "form") {
		return nil, nil, missing(req, `{"elicitation":{"form":{}}}`)
	}
	title := &mcp.ElicitParams{
		Mode:    "form",
		Message: "Under which title is the journal to be published?",
		RequestedSchema: json.RawMessage(`{
			"type": "object",
			"properties": {"title": {"type": "string", "title": "Title", "default": "My journal"}},
			"required": ["title"]
		}`),
	}
	var answer *mcp.ElicitResult
	var err error
	if t := taskOf(ctx); t != nil {
		answer, err = t.ask(ctx, "title", title)
	} else {
		answer, err = req.Session.Elicit(ctx, title)
	}
	if err != nil {
		return nil, nil, err
	}
	if answer.Action != "accept" {
		return text("The journal was not published."), nil, nil
	}
	chosen, _ := answer.Content["title"].(string)
	if err := pause(ctx); err != nil {
		return nil, nil, err
	}
	return text(fmt.Sprintf("%d entries were published as %q.", len(j.numbers()), chosen)), nil, nil
}

// report tells how far a tool is: in a task by the task's status, else with progress
// if the client asked for it.
func report(ctx context.Context, req *mcp.CallToolRequest, done, total int, message string) {
	if t := taskOf(ctx); t != nil {
		t.say(message)
		return
	}
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	// A client that went away is no reason to fail; the context will tell.
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(done), Total: float64(total), Message: message,
	})
}

// pause takes the time of one step. A cancelled call ends at once.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(step):
		return nil
	}
}

// canAsk reports whether the client can ask its user in a mode. Only a form
// needs no declaration of its own.
func canAsk(req *mcp.CallToolRequest, mode string) bool {
	caps := req.ClientCapabilities()
	switch {
	case caps == nil || caps.Elicitation == nil:
		return false
	case mode == "url":
		return caps.Elicitation.URL != nil
	}
	return caps.Elicitation.Form != nil || caps.Elicitation.URL == nil
}

// missing is the error for a client that does not declare what a tool needs. The
// older revisions have no code for it, so there the model is told.
func missing(req versioned, capabilities string) error {
	const message = "this tool needs a capability that the client did not declare: "
	if !modern(req) {
		return errors.New(message + capabilities)
	}
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: message + capabilities,
		Data:    json.RawMessage(`{"requiredCapabilities":` + capabilities + `}`),
	}
}

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
