package belt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// NeedsLogin reports whether an explained error says that the user has to log in.
func NeedsLogin(err error) bool {
	e, ok := errors.AsType[*cli.Error](err)
	return ok && e.Exit == cli.LoginNeeded
}

// ExplainCall returns the error of a call, or of another request, as the user is told it:
// its exit says whether it was sent, was answered, or may have run.
func ExplainCall(s *config.Server, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*cli.Error](err); ok {
		return e
	}
	e := &cli.Error{Server: s.Name, Message: strings.TrimPrefix(s.MaskError(err), "mcp: "), Err: err}
	arguments, misfit := errors.AsType[*registry.ArgumentsError](err)
	_, unknown := errors.AsType[*registry.UnknownToolError](err)
	limit, limited := errors.AsType[*mcp.TimeoutError](err)
	refused, answered := errors.AsType[*mcp.ServerError](err)
	outcome := mcp.OutcomeOf(err)
	wanted := wantedInput(err)
	switch {
	case wanted != "":
		return InputNeeded(s, wanted)
	case misfit:
		e.Exit, e.Cure = cli.Usage, "mcpbelt describe "+s.Name+" "+strings.TrimPrefix(arguments.Tool, s.Name+"__")+" has the parameters"
	case unknown:
		e.Exit, e.Cure = cli.NotFound, "mcpbelt tools "+s.Name
	case answered && refused.Err != nil:
		e.Exit = cli.ToolError
		e.Message = fmt.Sprintf("server %q answered with the error %d: %s", s.Name, refused.Err.Code, s.MaskError(errors.New(refused.Err.Message)))
	case limited && limit.Limit == "idle":
		e.Exit = unlessSent(outcome)
		e.Message = fmt.Sprintf("server %q was silent for %v", s.Name, limit.After)
		e.Cure = "if it may take longer between two signs of life, raise --idle"
	case limited:
		e.Exit = unlessSent(outcome)
		e.Message = fmt.Sprintf("the call took longer than %v in all", limit.After)
		e.Cure = "if it may take longer, raise --limit"
	case errors.Is(err, context.DeadlineExceeded):
		e.Exit = unlessSent(outcome)
		e.Message, e.Cure = "the command took longer than --timeout allows", "raise --timeout"
	case outcome == mcp.NotSent:
		return Explain(s, err)
	case outcome == mcp.Answered:
		e.Exit = cli.ToolError
	default:
		e.Exit, e.Cure = cli.OutcomeUnknown, "look before you try again"
	}
	return e
}

// InputNeeded returns the error of a request in the course of which a server wanted to ask.
func InputNeeded(s *config.Server, wanted string) error {
	e := &cli.Error{Exit: cli.InputNeeded, Server: s.Name, Message: fmt.Sprintf("server %q %s", s.Name, wanted), Cure: "run it at a terminal"}
	if wanted == fromModel {
		e.Cure += ", or with --model and --yes"
	}
	return e
}

// wantedInput says what a server wants of the user, or of a model, if an error says that it could
// not ask for it; empty if that is not why the request failed.
func wantedInput(err error) string {
	const (
		pageToVisit       = -32042
		missingCapability = -32021
	)
	invalid, asked := errors.AsType[*mcp.ProtocolError](err)
	if asked && strings.HasPrefix(invalid.Path, "inputRequests[") && strings.HasSuffix(invalid.Path, ".method") {
		if strings.Contains(invalid.Err.Error(), "sampling/") {
			return fromModel
		}
		return fromUser
	}
	refused, ok := errors.AsType[*mcp.ServerError](err)
	if !ok || refused.Err == nil {
		return ""
	}
	var data struct {
		RequiredCapabilities struct{ Elicitation, Sampling json.RawMessage }
		Elicitations         []struct{ Message, URL string }
	}
	_ = json.Unmarshal(refused.Err.Data, &data) // what is not there is not wanted
	switch {
	case refused.Err.Code == pageToVisit && len(data.Elicitations) > 0:
		page := data.Elicitations[0]
		return "wants the user to visit " + page.URL + ": " + page.Message
	case refused.Err.Code == missingCapability && data.RequiredCapabilities.Elicitation != nil:
		return fromUser
	case refused.Err.Code == missingCapability && data.RequiredCapabilities.Sampling != nil:
		return fromModel
	}
	return ""
}

// unlessSent returns the exit of a request that has no answer.
func unlessSent(o mcp.Outcome) cli.Exit {
	if o == mcp.NotSent {
		return cli.NotSent
	}
	return cli.OutcomeUnknown
}

// LostAt returns the error of a call that a daemon made and whose answer it did not get.
func (o *Opened) LostAt(s *config.Server, res *mcp.CallToolResult) error {
	outcome, _ := res.Meta[gateway.MetaOutcome].(string)
	if !o.Warm[s.Name] || outcome == "" {
		return nil
	}
	e := &cli.Error{Exit: cli.OutcomeUnknown, Server: s.Name, Message: s.MaskError(errors.New(res.Text())), Cure: "look before you try again"}
	if outcome == mcp.NotSent.String() || outcome == "not_sent" {
		e.Exit, e.Cure = cli.NotSent, "mcpbelt doctor "+s.Name
	}
	return e
}
