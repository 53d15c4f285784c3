package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"time"
)

// appendRequest appends a request as short as the protocol allows it.
func appendRequest(out []byte, id int, c *call) []byte {
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = strconv.AppendInt(out, int64(id), 10)
	out = append(out, `,"method":"tools/call","params":{"name":"`...)
	out = append(out, c.tool...)
	out = append(out, `","arguments":`...)
	out = append(out, c.args...)
	return append(out, `}}`...)
}

const listRequest = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// checkRaw is check for an answer that nobody has decoded.
func (c *call) checkRaw(answer []byte) error {
	if c.text != "" && !bytes.Contains(answer, []byte(c.text)) || len(answer) < c.size {
		return fmt.Errorf("%s answered %d bytes: %.80q", c.tool, len(answer), answer)
	}
	return nil
}

// countRaw counts the tools of an answer to tools/list.
func countRaw(answer []byte) int { return bytes.Count(answer, []byte(`"inputSchema":`)) }

// A floorPipe writes lines to a child and reads lines from it.
type floorPipe struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	pipe    io.Reader
	out     *bufio.Reader // of pipe, made for the first answer
	scratch []byte
}

func dialFloorPipe(_ context.Context, program string, args []string) (session, error) {
	f := &floorPipe{cmd: exec.Command(program, args...)}
	in, err := f.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.in, f.pipe = in, out
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	return f, nil
}

// Call implements session. Not for concurrent use; see Flood.
func (f *floorPipe) Call(_ context.Context, c *call) error {
	f.scratch = append(appendRequest(f.scratch[:0], 1, c), '\n')
	if _, err := f.in.Write(f.scratch); err != nil {
		return err
	}
	answer, err := f.readLine()
	if err != nil {
		return err
	}
	return c.checkRaw(answer)
}

// readLine returns a line in memory of its own: an answer belongs to the caller.
func (f *floorPipe) readLine() ([]byte, error) {
	if f.out == nil {
		f.out = bufio.NewReaderSize(f.pipe, 2<<20)
	}
	line, err := f.out.ReadSlice('\n')
	return bytes.Clone(line), err
}

// List implements session.
func (f *floorPipe) List(context.Context) (int, error) {
	if _, err := io.WriteString(f.in, listRequest+"\n"); err != nil {
		return 0, err
	}
	answer, err := f.readLine()
	if err != nil {
		return 0, err
	}
	return countRaw(answer), nil
}

// Flood has one request of each caller in flight until the time is over: one
// goroutine reads what answers have arrived, finds by its id the caller of each,
// and writes their next requests, all of them in one write.
func (f *floorPipe) Flood(callers []call, until time.Time) (int, error) {
	var requests []byte
	for i := range callers {
		requests = append(appendRequest(requests, i, &callers[i]), '\n')
	}
	answered, waiting, more := 0, len(callers), true
	for {
		if _, err := f.in.Write(requests); err != nil {
			return answered, err
		}
		requests = requests[:0]
		for arrived := false; !arrived; {
			answer, err := f.readLine()
			if err != nil {
				return answered, err
			}
			i, err := callerOf(answer, len(callers))
			if err == nil {
				err = callers[i].checkRaw(answer)
			}
			if err != nil {
				return answered, err
			}
			answered++
			waiting--
			if more {
				requests = append(appendRequest(requests, i, &callers[i]), '\n')
				waiting++
			}
			arrived = f.out.Buffered() == 0
		}
		if waiting == 0 {
			return answered, nil
		}
		more = more && time.Now().Before(until)
	}
}

// callerOf reads the id where the neutral server writes it.
func callerOf(answer []byte, callers int) (int, error) {
	text, ok := bytes.CutPrefix(answer, []byte(`{"jsonrpc":"2.0","id":`))
	id := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		id = 10*id + int(c-'0')
	}
	if !ok || id >= callers {
		return 0, fmt.Errorf("answer to nobody: %.80q", answer)
	}
	return id, nil
}

// Close implements session.
func (f *floorPipe) Close() error {
	return errors.Join(f.in.Close(), f.cmd.Wait())
}

// A floorHTTP posts bodies and reads those of the answers.
type floorHTTP struct {
	url    string
	client *http.Client
}

func dialFloorHTTP(_ context.Context, url string) (session, error) {
	return &floorHTTP{url, &http.Client{Transport: tuned()}}, nil
}

func (f *floorHTTP) post(ctx context.Context, request []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", response.Status)
	}
	// The server says how long its JSON answers are. One byte more lets the end be
	// read without another buffer. A stream gets the room for its one event.
	size := cmp.Or(response.ContentLength+1, bigSize*5/4)
	return readAll(make([]byte, 0, size), response.Body)
}

// Call implements session.
func (f *floorHTTP) Call(ctx context.Context, c *call) error {
	answer, err := f.post(ctx, appendRequest(nil, 1, c))
	if err != nil {
		return err
	}
	return c.checkRaw(answer)
}

// List implements session.
func (f *floorHTTP) List(ctx context.Context) (int, error) {
	answer, err := f.post(ctx, []byte(listRequest))
	return countRaw(answer), err
}

// Close implements session.
func (f *floorHTTP) Close() error {
	f.client.CloseIdleConnections()
	return nil
}

// A floorListener is a floorHTTP that holds a listening stream.
type floorListener struct {
	session
	stream io.ReadCloser
}

func dialFloorListen(ctx context.Context, url string) (session, error) {
	s, err := dialFloorHTTP(ctx, url)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.(*floorHTTP).client.Do(r)
	if err != nil {
		return nil, err
	}
	return &floorListener{s, response.Body}, nil
}

// Close implements session.
func (f *floorListener) Close() error { return errors.Join(f.stream.Close(), f.session.Close()) }

// noRegistry has calls go as they would without a registry.
func noRegistry(_ context.Context, s session) (session, error) { return s, nil }
