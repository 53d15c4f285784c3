package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// defaultMaxMessage is the size in bytes up to which a server's message is
// accepted when MaxMessage is zero: 16 MiB. anyMessage is more than one can have, and can
// be added to.
const (
	defaultMaxMessage = 16 << 20
	anyMessage        = int64(1) << 56
)

// maxMessage returns the limit that a transport's MaxMessage means.
func maxMessage(configured int64) int64 {
	switch {
	case configured == 0:
		return defaultMaxMessage
	case configured < 0:
		return anyMessage
	}
	return min(configured, anyMessage)
}

func tooLarge(limit int64) error {
	return &mcp.LimitError{Limit: "message bytes", Max: limit}
}

var errNotJSONRPC = errors.New("not a JSON-RPC message")

// requestFrame returns a request of the data plane. Method names are
// constants of the protocol, params is JSON already. Line breaks in it, which can stand
// between tokens only, become spaces: a line is a message.
func requestFrame(id int64, method string, params json.RawMessage) []byte {
	frame := make([]byte, 0, len(params)+len(method)+64)
	frame = append(frame, `{"jsonrpc":"2.0","id":`...)
	frame = strconv.AppendInt(frame, id, 10)
	frame = append(frame, `,"method":`...)
	frame = strconv.AppendQuote(frame, method)
	if len(params) > 0 {
		frame = append(frame, `,"params":`...)
		start := len(frame)
		frame = append(frame, params...)
		jsonscan.OneLine(frame[start:])
	}
	return append(frame, '}')
}

func cancelledFrame(id int64) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"the caller gave up"}}`, id)
}

// A router sends each message that a server wrote to the request it answers, or else to
// the mailbox.
type router struct {
	mailbox
	table inflight.Table
	signs atomic.Uint64 // how often the server has written something
}

// begin numbers a request, whose options may be nil.
func (r *router) begin(given *mcp.CallOptions) (call *inflight.Call, opts *mcp.CallOptions, err error) {
	if opts = given; opts == nil {
		opts = &mcp.CallOptions{}
	}
	r.keep()
	if call, err = r.table.Begin(opts.ProgressToken); err != nil {
		return nil, nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if opts.Numbered != nil {
		opts.Numbered(call.ID)
	}
	return call, opts, nil
}

// hear notes that the server has written something: also a part of a message, or an
// answer without a caller.
func (r *router) hear() { r.signs.Add(1) }

// route takes one message, or with a batch of revision 2025-03-26 several, and
// hands them on. deliver is called for those that belong to no call. It returns an
// error if data is no JSON-RPC; what was well formed is handed on.
func (r *router) route(data []byte, deliver func(jsonrpc.Message)) error {
	r.hear()
	m, err := jsonscan.Scan(data)
	if err != nil && !errors.Is(err, jsonscan.ErrNotObject) {
		if mended, ok := jsonscan.Mend(data); ok { // a bad character costs no more than itself
			data = mended
			m, err = jsonscan.Scan(data)
		}
	}
	if errors.Is(err, jsonscan.ErrNotObject) {
		return r.routeBatch(data, deliver)
	}
	if err != nil {
		m, ok := jsonscan.ScanLists(data)
		if ok && m.Version == "2.0" && m.Result != nil && m.Error == nil && r.table.Answer(m.ID, inflight.Answer{Result: m.Result, Flaw: err}) {
			return nil
		}
		return err
	}
	switch {
	case m.Version != "2.0":
		return errNotJSONRPC // such as a line of a log in JSON
	case m.IsResponse():
		if r.table.Answer(m.ID, inflight.Answer{Result: apart(m.Result, data), Error: m.Error}) {
			return nil
		}
	case m.Method == "":
		return errNotJSONRPC
	case m.Method == protocol.NoteProgress:
		if r.table.Progress(m.Params) {
			return nil
		}
	}
	message, err := jsonrpc.DecodeMessage(data)
	if err != nil && !m.IsResponse() {
		return err
	} else if err != nil {
		message = &jsonrpc.Response{Error: err} // to no request: its id is null
	}
	deliver(message)
	return nil
}

func (r *router) routeBatch(data []byte, deliver func(jsonrpc.Message)) error {
	err := errNotJSONRPC
	for element := range jsonscan.Elements(data) {
		if len(element) == 0 || element[0] != '{' {
			return errNotJSONRPC
		}
		if err = r.route(apart(element, data), deliver); err != nil {
			return err
		}
	}
	return err
}

// apart returns a part of a message, in memory of its own if it is the smaller part: it may be kept
// for long, and the message with it.
func apart(part, message []byte) []byte {
	const small = 4 << 10
	if len(message) <= small || len(part) > len(message)/2 {
		return part
	}
	return bytes.Clone(part)
}

// unread takes a message that cannot be read, or of which only the ends are left, because of err,
// and reports whether it says what it was meant to be. The request that it was meant to answer
// ends, so that its caller need not wait for its deadline. A request or notification
// goes to deliver with params that are no JSON, so that it is refused and logged there.
func (r *router) unread(text []byte, err error, deliver func(jsonrpc.Message)) bool {
	if slices.ContainsFunc(answeredBy(text), func(id int64) bool { return r.table.FailOne(id, err) }) {
		return true
	}
	m := begunRequest(text)
	if m == nil {
		return false
	}
	if jsonscan.Valid(text) == nil { // by chance, of the ends of a longer text
		m.Params = m.Params[1:]
	}
	deliver(m)
	return true
}

// The members with which all known servers begin a request: params come after the method. The id
// may be the last.
var (
	requestHead = regexp.MustCompile(`^\{\s*(?:"(?:jsonrpc|id)"\s*:[^,{}\[\]]*,\s*)*"method"\s*:\s*"([^"\\]{1,128})"\s*,?\s*(?:"(?:jsonrpc|id)"\s*:[^,{}\[\]]*,\s*)*`)
	idInHead    = regexp.MustCompile(`"id"\s*:\s*(\d{1,15}|"[^"\\]{1,128}")\s*,`)
	idAtEnd     = regexp.MustCompile(`"id"\s*:\s*(\d{1,15}|"[^"\\]{1,128}")\s*(?:,\s*"jsonrpc"\s*:\s*"2.0"\s*)?\}\s*$`)
)

// begunRequest returns the request or notification that text was meant to be, as far as it can be
// known, or nil. All of the text stands for its params.
func begunRequest(text []byte) *jsonrpc.Request {
	const near = 512
	end := text[max(0, len(text)-near):]
	head := requestHead.FindSubmatch(text[:min(near, len(text))])
	if head == nil || !bytes.Contains(head[0], []byte(`"jsonrpc"`)) && !bytes.Contains(end, []byte(`"jsonrpc"`)) {
		return nil
	}
	m := &jsonrpc.Request{Method: string(head[1]), Params: bytes.Clone(text)}
	id := idInHead.FindSubmatch(head[0])
	if id == nil {
		id = idAtEnd.FindSubmatch(end)
	}
	var raw any
	if id != nil && json.Unmarshal(id[1], &raw) == nil {
		m.ID, _ = jsonrpc.MakeID(raw) // of a number or string
	}
	return m
}

// result turns the answer to a request into what mcp.Caller returns.
func result(method string, a inflight.Answer) (json.RawMessage, error) {
	if a.Flaw != nil && !protocol.ListsItems(method) {
		return nil, invalidAnswer("", a.Flaw)
	}
	if a.Error == nil {
		return a.Result, nil
	}
	if a.Error[0] != '{' {
		return nil, invalidAnswer("error", errors.New("not an object"))
	}
	var e mcp.JSONRPCError
	for key, value := range jsonscan.Fields(a.Error) {
		switch string(key) {
		case "code":
			code, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return nil, invalidAnswer("error.code", errors.New("not an integer"))
			}
			e.Code = code
		case "message":
			e.Message, _ = jsonscan.String(value)
		case "data":
			e.Data = bytes.Clone(value) // or the whole message would be kept
		}
	}
	return nil, &e
}

// answeredBy returns what may be the id of the request that text, a message that
// is broken or of which only the ends are left, was meant to answer. It looks
// near both ends, where all known servers write the id. A request that a server
// repeats in its log is not taken for an answer.
func answeredBy(text []byte) (ids []int64) {
	const near = 256
	head, tail := string(text[:min(near, len(text))]), string(text[max(0, len(text)-near):])
	has := func(member string) bool { return strings.Contains(head, member) || strings.Contains(tail, member) }
	if !has(`"jsonrpc"`) || !has(`"result"`) && !has(`"error"`) && has(`"method"`) {
		return nil
	}
	for _, end := range []string{head, tail} {
		for _, after := range strings.Split(end, `"id"`)[1:] {
			after = strings.TrimLeft(after, ` :"`)
			digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
			if id, err := strconv.ParseInt(after[:digits], 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// A foreignAnswer is the media type of an answer that is none of MCP.
type foreignAnswer string

func (kind foreignAnswer) Error() string {
	return fmt.Sprintf("content type %q is neither JSON nor an event stream", string(kind))
}

// WebPage reports whether the answer is a page for people.
func (kind foreignAnswer) WebPage() bool { return kind == "text/html" }

func invalidAnswer(path string, err error) error {
	return &mcp.ProtocolError{Path: path, Err: err}
}
