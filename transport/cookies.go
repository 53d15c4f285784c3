package transport

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync"
)

// Cookies are those that the server's origin has set on one connection, such as the cookie by
// which a balancer finds the replica that has the session. They are sent to that origin
// only, since an endpoint sends nothing elsewhere, and end with the connection.
type cookies struct {
	mu    sync.Mutex
	jar   *cookiejar.Jar // nil if there are none yet
	known map[[3]string]struct{}
}

const (
	// maxCookies bounds the different cookies of one connection, and maxCookie the name and
	// value of each, in bytes. Others are not kept.
	maxCookies = 32
	maxCookie  = 4 << 10
)

// keep takes the cookies of a response.
func (c *cookies) keep(from *url.URL, resp *http.Response) {
	if len(resp.Header["Set-Cookie"]) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jar == nil {
		c.jar, _ = cookiejar.New(nil) // which never fails
		c.known = make(map[[3]string]struct{})
	}
	var kept []*http.Cookie
	for _, cookie := range resp.Cookies() {
		key := [3]string{cookie.Name, cookie.Domain, cookie.Path}
		_, again := c.known[key]
		if (again || len(c.known) < maxCookies) && len(cookie.Name)+len(cookie.Value) <= maxCookie {
			c.known[key] = struct{}{}
			kept = append(kept, cookie)
		}
	}
	c.jar.SetCookies(from, kept)
}

// with returns the fields of a request, with the cookies for its address behind those that are
// configured. It does not change fields, which requests share.
func (c *cookies) with(fields http.Header, to *url.URL) http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jar == nil {
		return fields
	}
	req := &http.Request{Header: fields.Clone()}
	for _, cookie := range c.jar.Cookies(to) {
		req.AddCookie(cookie)
	}
	return req.Header
}
