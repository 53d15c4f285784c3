package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const noticeRoots = "notifications/roots/list_changed"

// A RootError reports a root that no server gets, because it does not say plainly which
// file or folder it means.
//
// Deprecated: Protocol revision 2026-07-28 deprecates roots (SEP-2577). They work with
// older servers, and with newer ones that still use them.
type RootError struct {
	// URI is the root's URI or, from [RootOf], the path.
	URI string
	// Reason says what is wrong with it.
	Reason string
}

func (e *RootError) Error() string { return fmt.Sprintf("mcp: root %q %s", e.URI, e.Reason) }

// Outcome returns [NotSent].
func (e *RootError) Outcome() Outcome { return NotSent }

var errRootsNotDeclared = errors.New("the server was told that there are no roots: set Roots of ClientOptions, if only to an empty list")

// RootOf returns the root for a file or folder of this machine, whose path must
// be absolute. Its name is the last element of the path. Nothing is looked up,
// so the path may lead elsewhere by symbolic links. The error is a [*RootError].
//
// Deprecated: As [RootError].
func RootOf(path string) (*Root, error) {
	if !filepath.IsAbs(path) {
		return nil, &RootError{path, "is not an absolute path"}
	}
	clean := filepath.Clean(path)
	slashed := filepath.ToSlash(clean)
	if !strings.HasPrefix(slashed, "/") { // a drive of Windows
		slashed = "/" + slashed
	}
	root := &Root{URI: (&url.URL{Scheme: "file", Path: slashed}).String(), Name: filepath.Base(clean)}
	if reason := rootFault(root.URI); reason != "" {
		return nil, &RootError{path, reason}
	}
	return root, nil
}

// SetRoots replaces the roots that the server may know of, and notifies a server of an
// older revision of the change. Each must be a file URI that names a file or folder of
// this machine plainly, or nothing changes and the error is a [*RootError]. The client
// keeps no part of roots.
//
// If the notification cannot be sent within ctx, the error says so, and the new roots
// count nevertheless: the old ones are not given out any more. Without a connection
// none is needed; a server asks by itself. SetRoots fails if Roots and ListRoots of
// [ClientOptions] are nil.
//
// Deprecated: As [RootError].
func (c *Client) SetRoots(ctx context.Context, roots []*Root) error {
	explain := func(err error) error {
		return c.explain(&request{method: noticeRoots}, err)
	}
	if !c.declares(methodRoots) {
		return explain(WithOutcome(errRootsNotDeclared, NotSent))
	}
	list, err := encodeRoots(roots)
	if err != nil {
		return err
	}
	if err := c.enter(); err != nil {
		return explain(err)
	}
	defer c.leave()
	c.roots.set(list)
	c.mu.Lock()
	l := c.current
	c.mu.Unlock()
	if l == nil || l.modern() {
		return nil
	}
	if err := l.tellRoots(ctx); err != nil && !l.tap.over() {
		return explain(err)
	}
	return nil
}

// tellRoots tells the server that the roots have changed.
func (l *life) tellRoots(ctx context.Context) error {
	return l.tap.notify(ctx, &jsonrpc.Request{Method: noticeRoots})
}

// catchUpOnRoots tells a server whose connection has just been made that the
// roots have changed since that began: it may have asked for them before.
func (c *Client) catchUpOnRoots(l *life) {
	if l.modern() || !c.declares(methodRoots) || c.roots.count() == l.roots {
		return
	}
	l.tap.goes(func() {
		ctx, stop := context.WithTimeout(l.alive, cancelTimeout)
		defer stop()
		_ = l.tellRoots(ctx)
	})
}

// listRoots answers roots/list.
func (c *Client) listRoots(ctx context.Context) (json.RawMessage, error) {
	if c.opts.ListRoots != nil {
		if roots, err := c.opts.ListRoots(ctx); roots != nil || err != nil {
			return object(member{"roots", c.encodeValidRoots(roots)}), err
		}
	}
	return c.roots.answer(), nil
}

// A rootList is the answer to roots/list.
type rootList struct {
	mu      sync.Mutex
	list    json.RawMessage
	changes int
}

func (r *rootList) set(list json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = list
	r.changes++
}

func (r *rootList) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes
}

func (r *rootList) answer() json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return object(member{"roots", r.list})
}

// encodeValidRoots writes roots down, but for those that are invalid: there is no caller
// to return an error to, and they must not be given out.
func (c *Client) encodeValidRoots(roots []*Root) json.RawMessage {
	valid := []*Root{}
	for _, root := range roots {
		if _, err := encodeRoots([]*Root{root}); err != nil {
			c.opts.Logger.Error("mcp: a root is left out", "server", c.name, "error", err)
			continue
		}
		valid = append(valid, root)
	}
	list, _ := encodeRoots(valid) // each of them could be
	return list
}

// encodeRoots checks roots and writes them down, so that nothing remains shared
// with the caller.
func encodeRoots(roots []*Root) (json.RawMessage, error) {
	list := []*Root{}
	for _, root := range roots {
		if root == nil {
			return nil, &RootError{"", "is nil"}
		}
		if reason := rootFault(root.URI); reason != "" {
			return nil, &RootError{root.URI, reason}
		}
		if _, err := json.Marshal(root); err != nil {
			return nil, &RootError{root.URI, "has metadata that is not JSON"}
		}
		list = append(list, root)
	}
	return json.Marshal(list)
}

// maxRoot bounds the URI of a root, in bytes.
const maxRoot = 8 << 10

// rootFault says what is wrong with the URI of a root, going on after it; empty
// if nothing is. Whatever a server makes of it, by whatever decoding, must be the
// same file.
func rootFault(uri string) string {
	const scheme = "file://"
	u, err := url.Parse(uri)
	switch {
	case len(uri) > maxRoot:
		return fmt.Sprintf("is longer than %d bytes", maxRoot)
	case !strings.HasPrefix(uri, scheme):
		return "is not a file:// URI"
	case err != nil:
		return "is not a URI"
	case u.User != nil || u.Host != "" && u.Host != "localhost":
		return "names another host"
	case strings.ContainsAny(uri, "?#"):
		return "has a query or a fragment"
	case u.Path == "" || u.Path[0] != '/':
		return "has no absolute path"
	}
	path := u.EscapedPath()
	for {
		if fault := pathFault(path); fault != "" {
			return fault
		}
		decoded := unescape(path)
		if decoded == path {
			break
		}
		if strings.Count(decoded, "/") != strings.Count(path, "/") {
			return "has an encoded slash"
		}
		path = decoded
	}
	if len(u.Path) == 3 && u.Path[2] == ':' {
		return "has a drive without its root"
	}
	return ""
}

// unescape decodes what is percent-encoded, and leaves what only looks like it.
func unescape(path string) string {
	var decoded strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if b, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				decoded.WriteByte(byte(b))
				i += 2
				continue
			}
		}
		decoded.WriteByte(path[i])
	}
	return decoded.String()
}

func pathFault(path string) string {
	for _, r := range path {
		switch {
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufffd':
			return "has control characters or is not UTF-8"
		case r == '\\':
			return "has a backslash"
		}
	}
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		switch {
		case segment == "." || segment == "..":
			return "has dot segments"
		case segment == "" && i < len(segments)-1:
			return "has empty segments"
		}
	}
	return ""
}
