package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
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
	// Form is the form of that schema: its fields, what to warn the user of, and by Fill how
	// content will be sent if it is accepted. The client fills in what a handler returns in
	// the same way; a handler that asks again needs to know before.
	Form form.Form
	// Caused says that it is known which call, or other request of this client, made the
	// server ask. The handler's context then has the values of the context of that request,
	// such as the user whom a gateway put there; it ends as it always does. If Caused is
	// false the handler's context has the values of no request.
	//
	// In revision 2026-07-28 the request is always known. In older ones it is known over
	// HTTP if the server asks on the stream of the answer, and if the server names the
	// task of the request. Else it is taken to be the only one under way on the
	// connection, and is unknown if there are several, or if the server may still be at
	// work for one that was given up or has become a task.
	Caused bool
	// Tool is the name of the tool that was called; empty if Caused is false, or if the
	// request was no call of a tool.
	Tool string
	RawRequest
}

// elicit asks the user, and checks the question before and the answer after.
func (c *Client) elicit(ctx context.Context, raw json.RawMessage, waits bool, of *asked) (json.RawMessage, error) {
	params, err := decodeElicit(raw)
	if err != nil {
		return nil, at("params", err)
	}
	switch {
	case (params.Mode == "" || params.Mode == "form") && c.opts.Elicit != nil:
		return c.elicitForm(ctx, params, raw, of)
	case params.Mode == "url" && c.opts.ElicitURL != nil:
		answer, _, err := c.elicitURL(ctx, params, raw, waits, of)
		return answer, err
	}
	return nil, refused("elicitation mode %q was not declared", params.Mode)
}

func (c *Client) elicitForm(ctx context.Context, params *ElicitParams, raw json.RawMessage, of *asked) (json.RawMessage, error) {
	schema, _ := params.RequestedSchema.(json.RawMessage)
	f, err := form.Parse(schema)
	if err != nil {
		return nil, err
	}
	req := &ElicitRequest{Server: c.name, Params: params, Form: *f, RawRequest: RawRequest{Raw: raw}}
	req.Caused, req.Tool = of.cause()
	res, err := c.opts.Elicit(ctx, req)
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

// An ElicitURLRequest asks the user to open a URL, to enter data that must not pass
// through the client.
//
// The handler shows the user the server's name and the whole URL, its host above all,
// and asks whether they agree. If they do, it opens the page in their browser, or lets
// them open it, and accepts. Accepting says that the user agreed, not that they are
// done. Nothing may be fetched from the URL before, nor by the program at all.
type ElicitURLRequest struct {
	// Server is the name of the server that asks, as given to [NewClient].
	Server string
	// Message is the server's reason: text of an untrusted party.
	Message string
	// URL is http or https, absolute, and without control characters and user
	// names. Show all of it.
	URL string
	// Host is the host of URL: what to highlight.
	Host string
	// Warnings are reasons to look twice, such as a host that can be mistaken
	// for another one. They are sentences for the user.
	Warnings []string
	// Completed is closed when a notification of the server says that the user is done,
	// or when Done was called. Many servers send none.
	Completed <-chan struct{}
	// ServerWaits says that the server waits for the answer, and may give up if it is
	// not given as soon as the user has agreed. Otherwise nothing but the caller's own
	// call waits, and the handler can take its time until the user is done, which saves
	// another round.
	ServerWaits bool
	// Caused says that it is known which request made the server ask, as in
	// [ElicitRequest].
	Caused bool
	// Tool is the name of the tool that was called, as in [ElicitRequest].
	Tool string
	RawRequest

	page *page
}

// Done says that the user is done, for a server that sends no notification of it. A
// call that waits for it is then made again.
func (r *ElicitURLRequest) Done() {
	if r.page != nil { // of a request that is not the client's
		r.page.complete()
	}
}

// maxURL bounds a URL to be visited, in bytes.
const maxURL = 8 << 10

// elicitURL asks the user whether they agree to visit a page. The page is nil if they do not.
func (c *Client) elicitURL(ctx context.Context, params *ElicitParams, raw json.RawMessage, waits bool, of *asked) (json.RawMessage, *page, error) {
	host, warnings, err := examine(params.URL)
	if err != nil {
		return nil, nil, refused("url: %v", err)
	}
	p := c.pages.begin(params.ElicitationID)
	req := &ElicitURLRequest{
		Server: c.name, Message: params.Message, URL: params.URL,
		Host: host, Warnings: warnings, Completed: p.completed, ServerWaits: waits, RawRequest: RawRequest{Raw: raw}, page: p,
	}
	req.Caused, req.Tool = of.cause()
	res, err := c.opts.ElicitURL(ctx, req)
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

// A page is one that a user was asked to visit.
type page struct {
	id        string // by the server; may be empty
	once      sync.Once
	completed chan struct{}
}

func (p *page) complete() { p.once.Do(func() { close(p.completed) }) }

// over reports whether the user is done with the page.
func (p *page) over() bool { return isClosed(p.completed) }

const (
	// maxOpenPages bounds the pages whose completion is waited for, and
	// maxPageID their ids in bytes, since they are kept.
	maxOpenPages = 1024
	maxPageID    = 4 << 10
)

// pages are those that users were asked to visit and may not be done with, the oldest first.
type pages struct {
	mu   sync.Mutex
	open []*page
}

// begin returns a page for an id, the same if it was asked for before and the
// user is not done with it. The oldest is forgotten when there are too many. A
// page whose id is missing or too long is never done by a notification.
func (s *pages) begin(id string) *page {
	p := &page{id: id, completed: make(chan struct{})}
	if id == "" || len(id) > maxPageID {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, (*page).over)
	if i := s.indexLocked(id); i >= 0 {
		return s.open[i]
	}
	if len(s.open) == maxOpenPages {
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, p)
	return p
}

func (s *pages) indexLocked(id string) int {
	return slices.IndexFunc(s.open, func(p *page) bool { return p.id == id })
}

// complete takes a notification of the server. Ids that are not known, or not
// any more, are ignored.
func (s *pages) complete(params json.RawMessage) {
	id, _ := jsonscan.String(jsonscan.Member(params, "elicitationId"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.indexLocked(id); i >= 0 {
		s.open[i].complete()
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// pagesIn returns what a server of revision 2025-11-25 wants the user to visit
// before it runs a request, as parameters of elicitations, or nil if that is not why it refused.
func (c *Client) pagesIn(err error, conn *connection) []json.RawMessage {
	var refused *ServerError
	if c.opts.ElicitURL == nil || conn == nil || conn.modern() || !errors.As(err, &refused) || refused.Err.Code != protocol.CodeURLRequired {
		return nil
	}
	if jsonscan.Valid(refused.Err.Data) != nil {
		return nil
	}
	var wanted []json.RawMessage
	walk := jsonscan.Walk(refused.Err.Data)
	for key := range walk.Members() {
		if string(key) != "elicitations" || walk.Kind() != '[' {
			continue
		}
		for range walk.Elements() {
			raw := walk.Value()
			params, err := decodeElicit(raw)
			if err != nil || params.Mode != "" && params.Mode != "url" || len(wanted) == maxServerRequests {
				return nil
			}
			wanted = append(wanted, raw)
		}
	}
	return wanted
}

// visit has the user visit the pages that stand before a request, and returns when they
// are done with all of them.
func (x *exchange) visit(ctx context.Context, wanted []json.RawMessage, cause error) error {
	bounded, stop := x.within(ctx)
	defer stop()
	late := func() error {
		return x.answered(fmt.Errorf("waiting for the user to visit a page: %w", x.ended(ctx)))
	}
	var open []*page
	for _, raw := range wanted {
		var p *page
		if !x.conn.mayAsk(protocol.Elicit, &x.asked) {
			return x.answered(fmt.Errorf("%w: %w", errTooManyQuestions, cause))
		}
		err := x.client.runHandler(protocol.Elicit, func() (err error) {
			params, err := decodeElicit(raw)
			if err == nil {
				_, p, err = x.client.elicitURL(bounded, params, raw, false, &x.asked)
			}
			return err
		})
		if err != nil && bounded.Err() != nil {
			return late()
		}
		if err == nil && p == nil {
			err = errors.New("the user did not agree to visit the page")
		}
		if err != nil {
			return x.answered(fmt.Errorf("%w: %w", err, cause))
		}
		open = append(open, p)
	}
	for _, p := range open {
		select {
		case <-p.completed:
		case <-bounded.Done():
			return late()
		}
	}
	return nil
}
