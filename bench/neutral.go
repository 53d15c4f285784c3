package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A neutral is the server that all clients are measured with. It is written
// without any SDK and answers from bytes made beforehand, so that what a figure
// shows above the floor is the client's doing. It is safe for concurrent use.
type neutral struct {
	initialize, tools []byte        // results
	big               func() []byte // the same, made for the first call: a server starts without it
}

// newNeutral returns a server with so many tools.
func newNeutral(count int) (*neutral, error) {
	tools, err := catalog(count)
	if err != nil {
		return nil, err
	}
	return &neutral{
		initialize: []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"neutral","version":"1"}}`),
		tools:      tools,
		big: sync.OnceValue(func() []byte {
			text, _ := json.Marshal(bigText()) // a string has no error
			return appendText(nil, text)
		}),
	}, nil
}

// appendText appends the result of a tool that answers with a text, given as a
// JSON string.
func appendText(out, text []byte) []byte {
	out = append(out, `{"content":[{"type":"text","text":`...)
	out = append(out, text...)
	return append(out, `}]}`...)
}

// field returns the value of a key of a JSON object, as it stands there, or nil.
func field(object []byte, key string) []byte {
	for name, value := range jsonscan.Fields(object) {
		if string(name) == key {
			return value
		}
	}
	return nil
}

// answer appends the answer to a message, without a newline. A notification has
// none.
func (n *neutral) answer(out, message []byte) []byte {
	id := field(message, "id")
	if len(id) == 0 {
		return out
	}
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	result := func(r []byte) []byte { return append(append(append(out, `,"result":`...), r...), '}') }
	switch string(field(message, "method")) {
	case `"tools/call"`:
		params := field(message, "params")
		if string(field(params, "name")) == `"big"` {
			return result(n.big())
		}
		out = append(out, `,"result":`...)
		out = appendText(out, field(field(params, "arguments"), "text"))
		return append(out, '}')
	case `"tools/list"`:
		return result(n.tools)
	case `"initialize"`:
		return result(n.initialize)
	case `"ping"`:
		return result([]byte(`{}`))
	default: // server/discover among them: clients fall back to initialize
		return append(out, `,"error":{"code":-32601,"message":"method not found"}}`...)
	}
}

// serveLines answers the lines of in until it ends. Answers to requests that
// have arrived together leave in one write.
func (n *neutral) serveLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 256<<10)
	var answers []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if before := len(answers); len(line) > 1 {
			if answers = n.answer(answers, line); len(answers) > before {
				answers = append(answers, '\n')
			}
		}
		if lines.Buffered() > 0 && len(answers) < 64<<10 {
			continue
		}
		if _, err := out.Write(answers); err != nil {
			return err
		}
		answers = answers[:0]
	}
}

// listen holds a listening stream open, on which nothing happens.
func listen(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if http.NewResponseController(w).Flush() == nil {
		<-r.Context().Done()
	}
}

// handler answers with JSON and has no listening stream, but at the paths of linkSSE and
// linkListen.
func (n *neutral) handler() http.Handler {
	type exchange struct{ body, answer []byte }
	pool := &sync.Pool{New: func() any { return new(exchange) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/"+linkListen:
			listen(w, r)
			return
		case r.Method != http.MethodPost:
			http.Error(w, "only POST", http.StatusMethodNotAllowed)
			return
		}
		x := pool.Get().(*exchange)
		defer pool.Put(x)
		var err error
		if x.body, err = readAll(x.body[:0], r.Body); err != nil {
			http.Error(w, "the body broke off", http.StatusBadRequest)
			return
		}
		x.answer = n.answer(x.answer[:0], x.body)
		if r.URL.Path == "/"+linkListen { // which announces its tools, or clients need not listen
			x.answer = bytes.Replace(x.answer, []byte(`"tools":{}`), []byte(`"tools":{"listChanged":true}`), 1)
		}
		if len(x.answer) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		header := w.Header()
		if r.URL.Path == "/"+linkSSE {
			header.Set("Content-Type", "text/event-stream")
			for _, part := range [][]byte{[]byte("event: message\ndata: "), x.answer, []byte("\n\n")} {
				_, _ = w.Write(part) // a client that is gone needs no answer
			}
			return
		}
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(x.answer)))
		_, _ = w.Write(x.answer) // a client that is gone needs no answer
	})
}

// readAll is io.ReadAll into a buffer that is used again.
func readAll(buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, max(512, len(buf)))...)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}
