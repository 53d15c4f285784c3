package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp/form"
	"github.com/mcpbelt/mcpbelt/mcp/internal/pages"
)

// elicit asks the user, and checks the question before and the answer after.
func (s *shared) elicit(ctx context.Context, raw json.RawMessage, waits bool, of *asked) (json.RawMessage, error) {
	params, err := decodeElicit(raw)
	if err != nil {
		return nil, at("params", err)
	}
	switch {
	case (params.Mode == "" || params.Mode == "form") && s.opts.Elicit != nil:
		return s.elicitForm(ctx, params, raw, of)
	case params.Mode == "url" && s.opts.ElicitURL != nil:
		answer, _, err := s.elicitURL(ctx, params, raw, waits, of)
		return answer, err
	}
	return nil, refused("elicitation mode %q was not declared", params.Mode)
}

func (s *shared) elicitForm(ctx context.Context, params *ElicitParams, raw json.RawMessage, of *asked) (json.RawMessage, error) {
	schema, _ := params.RequestedSchema.(json.RawMessage)
	f, err := form.Parse(schema)
	if err != nil {
		return nil, err
	}
	req := &ElicitRequest{Server: s.name, Params: params, Form: *f, RawRequest: RawRequest{Raw: raw}}
	req.Caused, req.Tool = of.cause()
	res, err := s.opts.Elicit(ctx, req)
	if err != nil || req.answer != nil {
		return req.answer, err
	}
	if res = settled(res); res.Action == "accept" {
		if res.Content, err = f.Fill(res.Content); err != nil {
			return nil, err
		}
	}
	return json.Marshal(res)
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
	if !isObject(raw) {
		return &ElicitParams{}, nil
	}
	var schema json.RawMessage
	params, err := decodeStruct[ElicitParams](raw, "", field{name: "requestedSchema", into: func(value []byte) error {
		if !isObject(value) && !isNull(value) {
			return wrongKind(value, anObject)
		}
		schema = value
		return nil
	}})
	if schema != nil && err == nil {
		params.RequestedSchema = schema
	}
	return params, err
}

// maxURL bounds a URL to be visited, in bytes.
const maxURL = 8 << 10

// elicitURL asks the user whether they agree to visit a page. The page is nil if they do not.
func (s *shared) elicitURL(ctx context.Context, params *ElicitParams, raw json.RawMessage, waits bool, of *asked) (json.RawMessage, *pages.Page, error) {
	host, warnings, err := examine(params.URL)
	if err != nil {
		return nil, nil, refused("url: %v", err)
	}
	p := s.pages.Begin(params.ElicitationID)
	req := &ElicitURLRequest{
		Server: s.name, Message: params.Message, URL: params.URL,
		Host: host, Warnings: warnings, Completed: p.Completed, ServerWaits: waits, RawRequest: RawRequest{Raw: raw}, page: p,
	}
	req.Caused, req.Tool = of.cause()
	res, err := s.opts.ElicitURL(ctx, req)
	answer := req.answer
	if err == nil && answer == nil {
		res = settled(res)
		res.Content = nil
		answer, err = json.Marshal(res)
	}
	if action, _ := jsonscan.String(jsonscan.Member(answer, "action")); action != "accept" {
		p = nil
	}
	return answer, p, err
}

// examine checks a URL that a user is asked to visit.
func examine(raw string) (host string, warnings []string, err error) {
	if len(raw) > maxURL {
		return "", nil, fmt.Errorf("longer than %d bytes", maxURL)
	}
	for _, r := range raw {
		if r <= ' ' || r == '\\' || r >= 0x7f && r < 0xa0 {
			return "", nil, errors.New("has blanks, backslashes or control characters")
		}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", nil, errors.New("not a URL")
	}
	host = u.Hostname()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", nil, fmt.Errorf("scheme %q is neither https nor http", u.Scheme)
	case host == "":
		return "", nil, errors.New("has no host")
	case u.User != nil:
		return "", nil, errors.New("has a user name, which makes it look like one of another host")
	}
	return host, warningsOf(u.Scheme, host), nil
}

func warningsOf(scheme, host string) (warnings []string) {
	addr, err := netip.ParseAddr(host)
	numeric := err == nil
	local := numeric && addr.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
	if scheme == "http" && !local {
		warnings = append(warnings, "The connection to this page is not encrypted.")
	}
	if (numeric || endsInNumber(host)) && !local {
		warnings = append(warnings, "The address is a number, not a name.")
	}
	coded := strings.Contains("."+strings.ToLower(host), ".xn--") // Punycode
	if coded || strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		warnings = append(warnings, "The name has letters of other alphabets and may look like another one.")
	}
	return warnings
}

// endsInNumber reports whether a browser takes a host for an address of version 4
// in one of its older forms, such as 2130706433 or 0x7f.1.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = hex, digits+"abcdef"
	} else if last == "" {
		return false
	}
	return strings.Trim(last, digits) == ""
}
