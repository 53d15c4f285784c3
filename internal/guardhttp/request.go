package guardhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

// A Request is one of any method, with any body.
type Request struct {
	Method string
	URL    string
	// Header may not set what the connection is made of: Host, Content-Length,
	// Transfer-Encoding, Connection and its like are left out, and so is
	// Accept-Encoding.
	Header http.Header
	Body   string // none if it is empty
	// Follow follows redirects within the origin, three at most, if the method is
	// GET, HEAD or OPTIONS.
	Follow   bool
	Timeout  time.Duration // for all of it. Zero: 30 seconds
	MaxBytes int           // of the body of the answer, decompressed. Zero: 1 MiB
}

// Do sends a request and reads its answer, whatever its status. A redirect that
// is not followed is an answer too. No cookies are kept. Answers may come compressed
// by gzip; their header then no longer says so.
//
// A method that is not safe gets a connection of its own, see [New]. The errors are
// [*Refusal] and [*Failure].
func (c *Client) Do(ctx context.Context, r *Request) (*Answer, error) {
	timeout, bound := c.timeout, errTooSlow
	if r.Timeout > 0 {
		timeout, bound = r.Timeout, plainError("no whole answer within "+r.Timeout.String())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, bound)
	defer cancel()
	u, err := c.Check(r.URL)
	if err != nil {
		return nil, err
	}
	header, err := sendable(r)
	if err != nil {
		return nil, &Failure{Host: u.Host, NotSent: true, Err: err}
	}
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	tr := c.post
	if safe && r.Body == "" {
		tr = c.get
	}
	for redirected := 0; ; redirected++ {
		answer, err := c.exchange(ctx, tr, r.Method, u, header, r.Body, r.read)
		if err != nil || !safe || !r.Follow || redirected == maxRedirects || !redirects(answer.Status) {
			return answer, err
		}
		if u, err = c.follow(u, answer); err != nil {
			return answer, nil
		}
	}
}

// sendable returns the header of a request without what is not the caller's to
// say. Its errors show no value.
func sendable(r *Request) (http.Header, error) {
	if !httpfield.ValidName(r.Method) || r.Method == http.MethodConnect {
		return nil, errors.New("the method of the request is not one that can be sent")
	}
	header := make(http.Header, len(r.Header))
	for name, values := range r.Header {
		if !httpfield.ValidName(name) {
			return nil, errors.New("a header of the request has a name that is none")
		}
		if name = http.CanonicalHeaderKey(name); ofConnection(name) {
			continue
		}
		for _, value := range values {
			if !httpfield.ValidValue(value) {
				return nil, fmt.Errorf("the header %s of the request has a line break or another control character", name)
			}
		}
		header[name] = append(header[name], values...)
	}
	return header, nil
}

// ofConnection reports whether a header is about the connection and the framing
// of messages (RFC 9110, section 7.6.1), or about how answers are compressed.
func ofConnection(name string) bool {
	return slices.Contains([]string{
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
		"Expect", "Proxy-Connection", "Proxy-Authorization", "Accept-Encoding",
	}, name)
}

// read reads the answer to the request, up to its bound. Its errors show nothing of the body.
func (r *Request) read(resp *http.Response) (*Answer, error) {
	most := maxBody
	if r.MaxBytes > 0 {
		most = r.MaxBytes
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	a := &Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
	switch coding := resp.Header.Get("Content-Encoding"); {
	case err != nil && len(body) <= most:
		return nil, err
	case coding != "" && coding != "identity" && len(body) > 0:
		return nil, plainError("the answer is compressed in a way that was not asked for")
	case len(body) > most:
		a.Body, a.Truncated = body[:most:most], true
	}
	return a, nil
}
