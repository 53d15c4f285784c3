package mcp

import (
	"context"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/mcp/form"
)

// An ElicitRequest is a request of a server that the user fill in a form.
type ElicitRequest struct {
	// Server is the name of the server that asks, as given to [NewClient].
	// Show it to the user: what Params says comes from that server.
	Server string
	// Params are the question and the schema of the answer, which is held as a
	// [json.RawMessage].
	Params *ElicitParams
	// Fields are the fields of the schema, in its order.
	Fields []form.Field
	// Warnings are reasons to look twice, such as fields that ask for a secret. They
	// are sentences for the user, without text of the server.
	Warnings []string
}

// Fill returns content as it will be sent if it is accepted, as [form.Form.Fill] does.
// It returns a [*form.FieldError] if the form does not allow the content, and a
// [*form.SchemaError] if the schema in Params is not that of a form.
//
// The client does the same with what a handler returns. A handler that asks
// again needs to know before.
func (r *ElicitRequest) Fill(content map[string]any) (map[string]any, error) {
	var schema json.RawMessage
	if r.Params != nil && r.Params.RequestedSchema != nil {
		raw, err := json.Marshal(r.Params.RequestedSchema)
		if err != nil {
			return nil, &form.SchemaError{Problem: "is not JSON"}
		}
		schema = raw
	}
	f, err := form.Parse(schema)
	if err != nil {
		return nil, err
	}
	return f.Fill(content)
}

// elicit asks the user, and checks the question before and the answer after.
func (c *Client) elicit(ctx context.Context, raw json.RawMessage, waits bool) (json.RawMessage, error) {
	params, err := decodeElicit(raw)
	if err != nil {
		return nil, at("params", err)
	}
	var res *ElicitResult
	switch {
	case (params.Mode == "" || params.Mode == "form") && c.opts.Elicit != nil:
		res, err = c.elicitForm(ctx, params)
	case params.Mode == "url" && c.opts.ElicitURL != nil:
		res, _, err = c.elicitURL(ctx, params, waits)
	default:
		return nil, refused("elicitation mode %q was not declared", params.Mode)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(res)
}

func (c *Client) elicitForm(ctx context.Context, params *ElicitParams) (*ElicitResult, error) {
	schema, _ := params.RequestedSchema.(json.RawMessage)
	f, err := form.Parse(schema)
	if err != nil {
		return nil, err
	}
	res, err := c.opts.Elicit(ctx, &ElicitRequest{Server: c.name, Params: params, Fields: f.Fields, Warnings: f.Warnings()})
	if err != nil {
		return nil, err
	}
	if res = settled(res); res.Action != "accept" {
		return res, nil
	}
	res.Content, err = f.Fill(res.Content)
	return res, err
}

// settled returns the answer of a handler without what does not belong to it. No
// answer means that the user did not want to give one.
func settled(res *ElicitResult) *ElicitResult {
	switch {
	case res == nil || res.Action == "":
		return &ElicitResult{Action: "cancel"}
	case res.Action != "accept":
		return &ElicitResult{Action: res.Action}
	}
	return &ElicitResult{Action: res.Action, Content: res.Content, Meta: res.Meta}
}

// decodeElicit decodes the parameters of elicitation/create.
func decodeElicit(raw json.RawMessage) (*ElicitParams, error) {
	params := &ElicitParams{}
	if !isObject(raw) {
		return params, nil
	}
	return decoded(params, decodeObject(raw,
		field{name: "mode", into: &params.Mode},
		field{name: "message", into: &params.Message},
		field{name: "requestedSchema", into: func(value []byte) error {
			if !isObject(value) && !isNull(value) {
				return wrongKind(value, anObject)
			}
			params.RequestedSchema = json.RawMessage(value)
			return nil
		}},
		field{name: "url", into: &params.URL},
		field{name: "elicitationId", into: &params.ElicitationID},
		field{name: "_meta", into: &params.Meta},
	))
}
