package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/internal/scratch"
)

// get opens the listening stream of a session, or resumes a stream that the client has lost.
func (x *exchange) get() {
	if !x.accepts(typeEvents) || x.r.Header.Get("Accept") == "" {
		writeText(x.w, http.StatusNotAcceptable, "accept text/event-stream")
		return
	}
	s := x.session()
	if s == nil {
		return
	}
	out, from := s.listen(), -1
	if x.gateway.serving.Err() != nil {
		s.endListening()
	}
	if event := x.r.Header.Get(protocol.HeaderEvent); event != "" {
		id, number, _ := strings.Cut(event, "-")
		n, err := strconv.ParseInt(number, 10, 32) // -1 is that of the event without a message
		if err != nil || n < -1 {
			writeText(x.w, http.StatusBadRequest, "the Last-Event-ID is not one of the gateway's")
			return
		}
		if out = s.resumable(id); out == nil {
			writeText(x.w, http.StatusNotFound, "the stream is not kept any more")
			return
		}
		from = int(n) + 1
	}
	x.stream(out, from)
}

// stream sends all that a stream has to the client, until it ends.
func (x *exchange) stream(out *stream.Stream, from int) {
	reader, ok := out.Attach(from)
	if !ok {
		writeText(x.w, http.StatusNotFound, "what follows the Last-Event-ID is not kept any more")
		return
	}
	defer out.Detach(reader)
	e := &eventWriter{exchange: x, out: out, reader: reader}
	tick := time.NewTicker(commentEvery)
	defer tick.Stop()
	for {
		if over := e.drain(); over {
			return
		}
		select {
		case <-out.Ready:
		case <-tick.C:
			if !x.stillAllowed() {
				return
			}
			e.text(": \n\n") // a comment
			e.write(false)
		case <-x.r.Context().Done():
			return
		case <-x.gateway.ctx.Done():
			return
		}
	}
}

// An eventWriter writes a stream as server-sent events. Only the goroutine of the HTTP request uses it.
type eventWriter struct {
	exchange *exchange
	out      *stream.Stream
	reader   int
	request  *request // to which the stream is the answer; nil: to none alone
	opened   bool     // the answer to the request is a stream
	begun    bool     // the header was written
	failed   bool
	buf      []byte
}

// open makes the answer to a request a stream, which its client may resume.
func (e *eventWriter) open() {
	r := e.request
	if r == nil || e.opened {
		return
	}
	e.opened = true
	if s := r.peer.session; s != nil {
		s.keep(r.out)
	}
	if protocol.RevisionOf(r.peer.revision).Polling && e.out.ID != "" {
		// An event without a message, by which the client can resume a stream that it loses before there is one, and the time
		// after which it should try that. It is written with what comes next.
		e.text("id: " + e.out.ID + "--1\nretry: 1000\ndata: \n\n")
	}
}

// drain writes what there is, and reports whether nothing more will come, or can be written.
func (e *eventWriter) drain() bool {
	e.open()
	for !e.failed {
		m, number, ok, over := e.out.Take(e.reader)
		if !ok {
			e.write(over)
			return over || e.failed
		}
		if e.out.ID != "" {
			e.text("id: " + e.out.ID + "-" + strconv.Itoa(number) + "\n")
		}
		e.text("data: ")
		e.buf = append(m.AppendTo(e.buf), "\n\n"...)
		if len(e.buf) >= 64<<10 && e.out.State().HasMore {
			e.write(false)
		}
	}
	return true
}

// text adds text to what is to be written.
func (e *eventWriter) text(text string) {
	if e.buf == nil {
		e.buf = scratch.Get(0)
	}
	e.buf = append(e.buf, text...)
}

// write sends what was put together. The last of it goes out with the end of the response, so that
// an answer of one piece is one write.
func (e *eventWriter) write(last bool) {
	if len(e.buf) == 0 && e.begun || e.failed {
		return
	}
	if !e.begun {
		e.begun = true
		h := e.exchange.w.Header()
		h.Set("Content-Type", typeEvents)
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no")
		if last {
			h.Set("Content-Length", strconv.Itoa(len(e.buf)))
		}
		e.exchange.w.WriteHeader(http.StatusOK)
	}
	_ = e.exchange.control.SetWriteDeadline(time.Now().Add(writeWithin))
	_, err := e.exchange.w.Write(e.buf)
	if err == nil && !last {
		err = e.exchange.control.Flush()
	}
	e.failed = err != nil
	scratch.Put(e.buf)
	e.buf = nil
}
