package guardhttp

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// An Answer is a response that was read whole. That of [Client.Do] has any body; the body of another is JSON by its
// content type, or begins like an object where the type says nothing, or is a form, see [Answer.IsForm]; or it is nil if it
// is empty, or if it is another with a status that is not of success.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool // the body is longer than was allowed; this is its beginning. Of Do alone
}

// IsForm reports whether the body is in form encoding by its content type, as some
// authorization servers answer.
func (a *Answer) IsForm() bool {
	if a == nil {
		return false
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind == formType
}

const formType = "application/x-www-form-urlencoded"

// read reads a response whole. Its errors show nothing of the body.
func read(resp *http.Response) (*Answer, error) {
	a := &Answer{Status: resp.StatusCode, Header: resp.Header}
	if redirects(a.Status) {
		return a, nil
	}
	problem, vague := notJSON(resp.Header)
	switch {
	case problem == "" || vague:
	case a.Status/100 != 2:
		return a, nil
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return nil, plainError(problem) // it may not end
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case len(body) > maxBody:
		return nil, plainError("the answer is larger than 1 MiB")
	case err != nil:
		return nil, err
	case len(body) == 0:
		return a, nil
	case problem == "", vague && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")):
		a.Body = body
	case a.Status/100 == 2:
		return nil, plainError(problem)
	}
	return a, nil
}

// notJSON says why an answer is not JSON by its header. That is vague if the type
// is one that says nothing: a document without an extension gets such a type from
// many servers of static files.
func notJSON(h http.Header) (problem string, vague bool) {
	if h.Get("Content-Encoding") != "" {
		return "the answer is compressed in a way that was not asked for", false
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case kind == "" && err != nil:
		return "the answer has no content type, and must have application/json", true
	case kind == "application/json", kind == formType, strings.HasSuffix(kind, "+json") && strings.HasPrefix(kind, "application/"):
		return "", false
	case len(kind) > 64:
		return "the answer is not JSON by its content type", false
	}
	problem = fmt.Sprintf("the answer has the content type %q, and must have application/json", kind)
	return problem, kind == "text/plain" || kind == "application/octet-stream" || kind == "binary/octet-stream"
}
