package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// An ElicitRequest is a server's wish to ask the user for something.
type ElicitRequest struct {
	// Server is the name of the server that asks, as given to [NewClient].
	// Show it to the user: what Params says comes from that server.
	Server string
	// Params are the question and the schema of the answer.
	Params *ElicitParams
}

const (
	methodElicit = "elicitation/create"
	// maxQuestions is how many elicitations of one server can be under way, and
	// how many it can ask for in one answer.
	maxQuestions = 16
)

// serveElicitations answers the server's elicitations in the SDK's place, so that
// those of all revisions take the same way, and the schema of an untrusted party
// meets only the flat check below.
func (c *Client) serveElicitations() sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != methodElicit {
				return next(ctx, method, req)
			}
			params, ok := req.GetParams().(*ElicitParams)
			if !ok || params == nil {
				return nil, refuse(refused("no parameters"))
			}
			res, err := c.elicit(ctx, params)
			if err != nil {
				c.opts.Logger.Warn("mcp: an elicitation failed", "server", c.name, "error", err)
				return nil, refuse(err)
			}
			return res, nil
		}
	}
}

// A refusal says why an elicitation cannot be asked or its answer not be used,
// in words that the server may see.
type refusal string

func (r refusal) Error() string { return string(r) }

func refused(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// refuse turns an error into an answer for the server. Of an error that the
// Elicit handler returned the server learns nothing, unless it is meant for it.
func refuse(err error) *JSONRPCError {
	var reason refusal
	var meant *JSONRPCError
	switch {
	case errors.As(err, &meant):
		return meant
	case errors.As(err, &reason):
		return &JSONRPCError{Code: jsonrpc.CodeInvalidParams, Message: string(reason)}
	}
	return &JSONRPCError{Code: jsonrpc.CodeInternalError, Message: "the client could not ask"}
}

// elicit asks the user, and checks the question before and the answer after.
func (c *Client) elicit(ctx context.Context, params *ElicitParams) (res *ElicitResult, err error) {
	if c.opts.Elicit == nil {
		return nil, refused("this client cannot be asked")
	}
	if params.Mode != "" && params.Mode != "form" {
		return nil, refused("mode %q was not declared", params.Mode)
	}
	form, err := newForm(params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	default:
		return nil, refused("more than %d questions at one time", maxQuestions)
	}
	defer func() {
		if r := recover(); r != nil {
			res, err = nil, fmt.Errorf("the Elicit handler panicked: %v", r)
		}
	}()
	res, err = c.opts.Elicit(ctx, &ElicitRequest{Server: c.name, Params: params})
	switch {
	case err != nil:
		return nil, err
	case res == nil || res.Action == "":
		return &ElicitResult{Action: "cancel"}, nil
	case res.Action != "accept":
		return &ElicitResult{Action: res.Action}, nil
	}
	content, err := form.fill(res.Content)
	if err != nil {
		return nil, err
	}
	return &ElicitResult{Action: res.Action, Content: content, Meta: res.Meta}, nil
}

// A form is the schema of an elicitation: a flat object of simple values.
type form struct {
	fields   map[string]formField
	required []string
}

type formField struct {
	Type    string          `json:"type"`
	Default json.RawMessage `json:"default"`
}

// newForm reads a requested schema, as decoded by the SDK. The protocol allows
// properties of type string, number, integer, boolean, and arrays of choices.
func newForm(schema any) (*form, error) {
	if schema == nil {
		return &form{}, nil
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, refused("requestedSchema: %v", err)
	}
	var object struct {
		Type       string               `json:"type"`
		Properties map[string]formField `json:"properties"`
		Required   []string             `json:"required"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, refused("requestedSchema is not a flat object schema")
	}
	if object.Type != "" && object.Type != "object" {
		return nil, refused("requestedSchema has type %q, must be object", object.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		switch object.Properties[name].Type {
		case "string", "number", "integer", "boolean", "array":
		default:
			return nil, refused("requestedSchema: property %q must have a simple type", name)
		}
	}
	return &form{object.Properties, object.Required}, nil
}

// fill returns content with the defaults of what it leaves out, and fails if a
// value is missing or has the wrong type.
func (f *form) fill(content map[string]any) (map[string]any, error) {
	filled := maps.Clone(content)
	if filled == nil {
		filled = map[string]any{}
	}
	for name, field := range f.fields {
		value, given := filled[name]
		if !given {
			if field.Default != nil {
				filled[name] = field.Default
			}
			continue
		}
		if err := checkType(field.Type, value); err != nil {
			return nil, refused("the answer's %q %v", name, err)
		}
	}
	for _, name := range f.required {
		if _, given := filled[name]; !given {
			return nil, refused("the answer lacks %q", name)
		}
	}
	return filled, nil
}

func checkType(want string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil || len(raw) == 0 {
		return errors.New("is no JSON value")
	}
	var ok bool
	switch want {
	case "string":
		ok = raw[0] == '"'
	case "boolean":
		ok = raw[0] == 't' || raw[0] == 'f'
	case "number":
		ok = raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	case "integer":
		var whole int64
		ok = json.Unmarshal(raw, &whole) == nil
	case "array":
		ok = raw[0] == '['
	}
	if !ok {
		return fmt.Errorf("is not of type %s", want)
	}
	return nil
}

// fulfil answers the wishes that came with a result of revision 2026-07-28, by
// the ids that the server gave them. They are answered one after the other.
func (c *Client) fulfil(ctx context.Context, requests json.RawMessage) (json.RawMessage, error) {
	if requests == nil {
		return nil, nil
	}
	var responses []member
	for id, raw := range jsonscan.Fields(requests) {
		if len(responses) == maxQuestions {
			return nil, at("inputRequests", fmt.Errorf("more than %d", maxQuestions))
		}
		path := fmt.Sprintf("inputRequests[%q]", id)
		params, err := decodeElicit(raw)
		if err != nil {
			return nil, at(path, err)
		}
		res, err := c.elicit(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		response, err := json.Marshal(res)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		responses = append(responses, member{string(id), response})
	}
	return object(responses...), nil
}

// decodeElicit decodes one wish, which must be an elicitation: this client
// declares nothing else.
func decodeElicit(raw []byte) (*ElicitParams, error) {
	var method string
	params := &ElicitParams{}
	for key, value := range jsonscan.Fields(raw) {
		var err error
		switch string(key) {
		case "method":
			err = decodeString(&method, key, value)
		case "params":
			params, err = decodeAs[*ElicitParams](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if params == nil {
		params = &ElicitParams{}
	}
	if method != methodElicit {
		return nil, at("method", fmt.Errorf("%q was not declared by this client", method))
	}
	return params, nil
}
