package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A server answers clients without any SDK, so that what grows is the client's doing.
// It is safe for concurrent use.
type server struct {
	requests, connections, sessions atomic.Int64
}

const (
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"growth","version":"1"}}`
	listedTools = `{"tools":[` +
		`{"name":"text","description":"Returns a text of so many bytes.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}}}},` +
		`{"name":"second","description":"Returns a text.","inputSchema":{"type":"object"}},` +
		`{"name":"third","description":"Returns a text.","inputSchema":{"type":"object"}},` +
		`{"name":"fourth","description":"Returns a text.","inputSchema":{"type":"object"}},` +
		`{"name":"fifth","description":"Returns a text.","inputSchema":{"type":"object"}}]}`
)

// A message is what a server reads of a request.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct {
			Bytes int `json:"bytes"`
		} `json:"arguments"`
	} `json:"params"`
}

// answer returns the answer to a message, without a newline; nil for a notification.
func (s *server) answer(text []byte) (answer []byte, method string) {
	s.requests.Add(1)
	var m message
	if json.Unmarshal(text, &m) != nil || len(m.ID) == 0 {
		return nil, m.Method
	}
	result := ""
	switch m.Method {
	case "initialize":
		result = initialized
	case "tools/list":
		result = listedTools
	case "ping":
		result = `{}`
	case "tools/call":
		out := bytes.NewBuffer(make([]byte, 0, m.Params.Arguments.Bytes+128))
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
		for range max(1, m.Params.Arguments.Bytes) {
			out.WriteByte('x')
		}
		out.WriteString(`"}]}}`)
		return out.Bytes(), m.Method
	default: // server/discover among them: clients go on with initialize
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID), m.Method
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result), m.Method
}

// runServer is the process of a server.
func runServer(args []string, stdout io.Writer) error {
	switch s := new(server); strings.Join(args, " ") {
	case "stdio":
		return s.serveLines(os.Stdin, stdout)
	case "http":
		return s.serveHTTP(os.Stdin, stdout)
	}
	return errors.New("serve what: stdio or http?")
}

// serveLines answers the lines of in until it ends. Answers to requests that have
// arrived together leave together.
func (s *server) serveLines(in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewReaderSize(in, 256<<10), bufio.NewWriterSize(out, 256<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if answer, _ := s.answer(line); answer != nil {
			_, _ = answers.Write(append(answer, '\n')) // Flush returns the error
		}
		if lines.Buffered() == 0 {
			if err := answers.Flush(); err != nil {
				return err
			}
		}
	}
}

// serveHTTP serves streamable HTTP with sessions and JSON answers: at /mcp without listening streams, at
// /listen with them, and at /modern with those of revision 2026-07-28.
func (s *server) serveHTTP(in io.Reader, out io.Writer) error {
	return serveUntilEnd(&http.Server{Handler: s, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}}, in, out)
}

// serveUntilEnd serves at a free port of this machine until in ends. It writes the URL to out, as a line.
func serveUntilEnd(web *http.Server, in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	_, err = fmt.Fprintf(out, "http://%s/\n", listener.Addr())
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	err = errors.Join(err, web.Close())
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// counts are what a server over HTTP has seen.
type counts struct {
	Requests    int64 `json:"requests"`
	Connections int64 `json:"connections"`
}

// ServeHTTP answers at /counts with [counts], and elsewhere as an MCP server.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/counts" {
		_ = json.NewEncoder(w).Encode(counts{s.requests.Load(), s.connections.Load()}) // a client that is gone needs none
		return
	}
	switch r.Method {
	case http.MethodPost:
	case http.MethodGet:
		s.requests.Add(1)
		if r.URL.Path != "/listen" {
			http.Error(w, "there is no listening stream", http.StatusMethodNotAllowed)
			return
		}
		hold(w, r, ": listening\n\n")
		return
	case http.MethodDelete:
		s.requests.Add(1)
		w.WriteHeader(http.StatusOK)
		return
	default:
		s.requests.Add(1)
		http.Error(w, "only POST and DELETE", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body broke off", http.StatusBadRequest)
		return
	}
	if r.URL.Path == "/modern" {
		s.answerModern(w, r, body)
		return
	}
	answer, method := s.answer(body)
	if method == "initialize" {
		w.Header().Set("Mcp-Session-Id", strconv.FormatInt(s.sessions.Add(1), 10))
	}
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer) // a client that is gone needs no answer
}

const (
	discovered   = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"growth","version":"1"}}`
	acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`
)

// answerModern answers in revision 2026-07-28.
func (s *server) answerModern(w http.ResponseWriter, r *http.Request, body []byte) {
	var m message
	_ = json.Unmarshal(body, &m) // what cannot be read has no method
	switch m.Method {
	case "subscriptions/listen":
		hold(w, r, "data: "+fmt.Sprintf(acknowledged, m.ID)+"\n\n")
	case "server/discover":
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, discovered)
	default:
		answer, _ := s.answer(body)
		_, _ = w.Write(bytes.Replace(answer, []byte(`"result":{`), []byte(`"result":{"resultType":"complete",`), 1))
	}
}

// hold begins a stream of events, and holds it open.
func hold(w http.ResponseWriter, r *http.Request, first string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, first)
	if http.NewResponseController(w).Flush() == nil {
		<-r.Context().Done()
	}
}

// A webServer is a server over HTTP in a process of its own.
type webServer struct {
	base string // with a slash at its end
	cmd  *exec.Cmd
	in   io.Closer
}

// startWebServer starts a process with a role, which writes its URL first.
func startWebServer(args ...string) (*webServer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &webServer{cmd: exec.Command(program, args...)}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server named no address: %w", err), s.close())
	}
	s.base = strings.TrimSpace(line)
	return s, nil
}

// at returns the URL of a path.
func (s *webServer) at(path string) string { return s.base + path }

// counts asks the server what it has seen.
func (s *webServer) counts() (c counts, err error) {
	res, err := http.Get(s.at("counts"))
	if err != nil {
		return c, err
	}
	err = json.NewDecoder(res.Body).Decode(&c)
	return c, errors.Join(err, res.Body.Close())
}

func (s *webServer) close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }
