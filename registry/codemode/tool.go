package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
)

// ToolName is the name of the tool of [Runner.Tool].
const ToolName = "code_execution"

// resumePatience is how long a call that resumes a script waits for the person.
const resumePatience = 45 * time.Second

// Tool returns the tool code_execution, by which a model runs scripts over the tools that
// keep keeps; nil: all that the registry lists. It may be added to the registry, whose
// options then say how long its results may be.
//
// Its description has the declarations of the tools if they are few. A script that waits
// for approval makes the call return what it waits for; code_execution{resume} goes on with
// it, and waits up to 45 s for the person.
func (c *Runner) Tool(keep func(*registry.Definition) bool) registry.Tool {
	text := description
	if found := declarations(c.registry.Snapshot().Tools(), keep); found != "" {
		text += "\n\nThe tools:\n" + found
	} else {
		text += "\n\nFind the tools by search."
	}
	return &codeTool{runner: c, keep: keep, def: &registry.Definition{
		Name: ToolName, Title: "Run a script", Description: text, InputSchema: json.RawMessage(inputSchema),
	}}
}

const description = `Runs JavaScript that calls tools, and returns what the script returns. Use it for several calls, loops, and large results of which a part is needed.

The code is the body of an async function: use await, and return a value that is small. There are
tools.SERVER.TOOL(args), call(name, args): call a tool; the value is its structured content, else its text, parsed if it is JSON. A failure is an exception with code and outcome ("answered", "not sent" or "unknown": then it may have run).
search(query, limit): [{name, description, declaration}]
describe(name): {name, description, declaration, inputSchema, outputSchema}
console.log(...), input. Nothing else: no require, fetch, process or timers. Make independent calls by Promise.all.`

const inputSchema = `{"type":"object","additionalProperties":false,"properties":{` +
	`"code":{"type":"string","description":"body of an async function"},` +
	`"input":{"description":"value of input in the script"},` +
	`"timeout":{"type":"number","exclusiveMinimum":0,"description":"seconds"},` +
	`"dry":{"type":"boolean","description":"list the calls that the script would make; only those that read are made"},` +
	`"ask_once":{"type":"boolean","description":"ask the user once about all calls of the script that need it, by a dry run"},` +
	`"resume":{"type":"string","description":"run of a script that waits for approval, to go on with it; no other property"}}}`

type codeTool struct {
	runner *Runner
	keep   func(*registry.Definition) bool
	def    *registry.Definition
}

// Definition implements registry.Tool.
func (t *codeTool) Definition() *registry.Definition { return t.def }

// Call implements registry.Tool.
func (t *codeTool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	if ctx.Value(runKey{}) != nil {
		return nil, &approval.DeniedError{Tool: ToolName, Reason: "a script cannot run another one"}
	}
	var in struct {
		Code    string          `json:"code"`
		Input   json.RawMessage `json:"input"`
		Timeout float64         `json:"timeout"`
		Dry     bool            `json:"dry"`
		AskOnce bool            `json:"ask_once"`
		Resume  string          `json:"resume"`
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, &registry.ArgumentsError{Tool: ToolName, Err: err}
	}
	if (in.Code == "") == (in.Resume == "") {
		return nil, &registry.ArgumentsError{Tool: ToolName, Err: errors.New(`want either "code" or "resume"`)}
	}
	var report *Report
	var err error
	if in.Resume != "" {
		report, err = t.runner.Resume(ctx, in.Resume, resumePatience)
	} else {
		report, err = t.runner.Run(ctx, &Script{
			Code: in.Code, Input: in.Input, Timeout: time.Duration(in.Timeout * float64(time.Second)),
			Keep: t.keep, DryRun: in.Dry, AskOnce: in.AskOnce,
		})
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: plain.Text(err.Error())}}}, nil
	}
	return answerOf(report)
}

// An answer is what a model is told of a report.
type answer struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Cut     string          `json:"cut,omitempty"`
	Error   string          `json:"error,omitempty"`
	At      string          `json:"at,omitempty"`
	Log     string          `json:"log,omitempty"`
	Resume  string          `json:"resume,omitempty"`
	Waiting []waitingCall   `json:"waiting,omitempty"`
	Calls   []CallReport    `json:"calls,omitempty"`
	Say     string          `json:"say,omitempty"`
}

type waitingCall struct {
	Approval  string          `json:"approval"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// answerOf returns a report as a result. The calls are in it where the script has not
// returned: then a model has to know what was done.
func answerOf(report *Report) (*mcp.CallToolResult, error) {
	a := answer{Value: report.Value, Log: report.Log, Resume: report.ID}
	if report.Bytes > 0 {
		a.Cut = fmt.Sprintf("the value has %d bytes of JSON, of which this is the beginning; return less", report.Bytes)
	}
	if report.Err != nil {
		a.Error, a.At = failureOf(report.Err)
	}
	if report.Err != nil || report.dry {
		a.Calls = report.Calls
	}
	if report.dry {
		a.Say = "This was a dry run: calls that are \"planned\" were not made, and returned null."
	}
	if report.ID != "" {
		a.Say = "The script waits until the user has approved these calls. Then go on with it by code_execution{\"resume\"}; do not run it again."
		for _, req := range report.Waiting {
			a.Waiting = append(a.Waiting, waitingCall{req.ID, req.Tool.Name, req.Args})
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil {
		return nil, &registry.ResultError{Tool: ToolName, Err: err}
	}
	return &mcp.CallToolResult{IsError: report.Err != nil, Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimSpace(text.String())}}}, nil
}

// failureOf returns what a model is told of a script that failed, and where it did. What is
// not of the script stays with the program.
func failureOf(err error) (text, at string) {
	if thrown, ok := errors.AsType[*ScriptError](err); ok {
		return thrown.Error(), plain.Text(strings.TrimSpace(thrown.stack))
	}
	switch {
	case errors.As(err, new(*sandboxError)):
		return "the sandbox failed", ""
	case errors.As(err, new(*LimitError)), errors.Is(err, errDisplaced), errors.Is(err, errWaited):
		return err.Error(), ""
	}
	return "the script was broken off", ""
}
