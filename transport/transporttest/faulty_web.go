package transporttest

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"time"
)

// A faultyTripper has faults between HTTP and the messages that it carries.
type faultyTripper struct {
	*striker
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *faultyTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Method != http.MethodPost {
		return f.send(req, "")
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	fault, id := f.request(body)
	own := req.Clone(req.Context())
	own.Body = io.NopCloser(bytes.NewReader(body))
	own.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	switch fault.Kind {
	case FaultRefuse:
		refusal := httptest.NewRecorder()
		refusal.WriteHeader(cmp.Or(fault.Status, http.StatusServiceUnavailable))
		resp := refusal.Result()
		resp.Request = req
		return resp, nil
	case FaultDelay:
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return f.send(own, id)
}

// send sends a request and puts the faults into the response: into the body, if
// that is the answer, or into an event stream, where the answers to other
// requests may come too.
func (f *faultyTripper) send(req *http.Request, id string) (*http.Response, error) {
	resp, err := f.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		resp.Body = &faultyEvents{striker: f.striker, body: resp.Body, in: bufio.NewReader(resp.Body)}
	case "application/json":
		fault := f.take(id)
		if fault.Kind == 0 {
			return resp, nil
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		d := fault.damage(body, "garbage\n")
		if d.over && len(d.bytes) == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		resp.Body = io.NopCloser(&faultyBody{d})
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
	return resp, nil
}

// A faultyBody reads a damaged answer.
type faultyBody struct{ damaged }

// Read implements io.Reader.
func (b *faultyBody) Read(p []byte) (int, error) {
	switch {
	case len(b.bytes) == 0 && b.over:
		return 0, io.ErrUnexpectedEOF
	case len(b.bytes) == 0:
		return 0, io.EOF
	case b.sliced && len(p) > 1:
		p = p[:1]
	}
	n := copy(p, b.bytes)
	b.bytes = b.bytes[n:]
	return n, nil
}

// A faultyEvents is an event stream whose events are damaged.
type faultyEvents struct {
	*striker
	body io.Closer
	in   *bufio.Reader
	now  faultyBody // the event that is being read
	err  error      // after it
}

// Read implements io.Reader.
func (e *faultyEvents) Read(p []byte) (int, error) {
	for len(e.now.bytes) == 0 && !e.now.over {
		if e.err != nil {
			return 0, e.err
		}
		var event, data []byte
		event, data, e.err = e.next()
		e.now = faultyBody{e.answer(data).damage(event, ": noise\n\nnoise\n\n")}
	}
	return e.now.Read(p)
}

// next reads the bytes of an event, up to and with the empty line, and returns
// its data too.
func (e *faultyEvents) next() (event, data []byte, err error) {
	for {
		line, err := e.in.ReadBytes('\n')
		event = append(event, line...)
		text := bytes.TrimRight(line, "\r\n")
		if err != nil || len(text) == 0 {
			return event, data, err
		}
		if part, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			data = append(data, part...)
		}
	}
}

// Close implements io.Closer.
func (e *faultyEvents) Close() error { return e.body.Close() }
