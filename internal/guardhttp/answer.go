package guardhttp

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// An Answer is a response that was read whole. Its body is JSON by its content
// type, or nil if it is empty, or if it is another with a status that is not of
// success.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// An unreadable error reports an answer that came and is of no use.
type unreadable struct{ problem string }

func (e *unreadable) Error() string { return e.problem }

// read reads a response whole. Its errors show nothing of the body.
func read(resp *http.Response) (*Answer, error) {
	a := &Answer{Status: resp.StatusCode, Header: resp.Header}
	if redirects(a.Status) {
		return a, nil
	}
	problem := notJSON(resp.Header)
	switch {
	case problem == "":
	case a.Status/100 != 2:
		return a, nil
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return nil, &unreadable{problem} // it may not end
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case len(body) > maxBody:
		return nil, &unreadable{"the answer is larger than 1 MiB"}
	case err != nil:
		return nil, err
	case len(body) == 0:
		return a, nil
	case problem != "":
		return nil, &unreadable{problem}
	}
	a.Body = body
	return a, nil
}

func notJSON(h http.Header) (problem string) {
	if h.Get("Content-Encoding") != "" {
		return "the answer is compressed in a way that was not asked for"
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case kind == "" && err != nil:
		return "the answer has no content type, and must have application/json"
	case kind == "application/json" || strings.HasSuffix(kind, "+json") && strings.HasPrefix(kind, "application/"):
		return ""
	case len(kind) > 64:
		return "the answer is not JSON by its content type"
	}
	return fmt.Sprintf("the answer has the content type %q, and must have application/json", kind)
}
