package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

var errRootsNotDeclared = errors.New("the server was told that there are no roots: set ListRoots of ClientOptions")

// RootsChanged notifies a server of an older revision that ListRoots of [ClientOptions]
// returns other roots than before. Without a connection there is nobody to notify; a server
// asks by itself. It fails if ListRoots is nil.
//
// Deprecated: Protocol revision 2026-07-28 deprecates roots (SEP-2577). They work with
// older servers, and with newer ones that still use them.
func (c *Client) RootsChanged(ctx context.Context) error {
	r := &request{method: protocol.NoteRootsChanged}
	if !c.declares(protocol.ListRoots) {
		return c.explain(r, WithOutcome(errRootsNotDeclared, NotSent))
	}
	if err := c.enter(); err != nil {
		return c.explain(r, err)
	}
	defer c.leave()
	c.mu.Lock()
	c.roots.Add(1)
	conn := c.current
	c.mu.Unlock()
	if conn == nil || conn.modern() {
		return nil
	}
	if err := conn.tellRoots(ctx); err != nil && !conn.hasEnded() {
		return c.explain(r, err)
	}
	return nil
}

// tellRoots tells the server that the roots have changed.
func (conn *connection) tellRoots(ctx context.Context) error {
	return conn.notify(ctx, &jsonrpc.Request{Method: protocol.NoteRootsChanged})
}

// catchUpOnRoots tells a server whose connection is being published that the roots have changed
// since it began: it may have asked for them before. The client is locked.
func (c *Client) catchUpOnRoots(conn *connection) {
	if conn.modern() || c.roots.Load() == conn.roots {
		return
	}
	conn.run(func() {
		ctx, stop := context.WithTimeout(conn.ctx, cancelTimeout)
		defer stop()
		_ = conn.tellRoots(ctx)
	})
}

// listRoots answers roots/list. Roots that are invalid are left out: there is no caller to
// return an error to.
func (c *Client) listRoots(ctx context.Context) (json.RawMessage, error) {
	roots, err := c.opts.ListRoots(ctx)
	if err != nil {
		return nil, err
	}
	valid := []json.RawMessage{}
	for _, root := range roots {
		encoded, err := encodeRoot(root)
		if err != nil {
			c.opts.Logger.Error("mcp: a root is left out", "server", c.name, "error", err)
			continue
		}
		valid = append(valid, encoded)
	}
	return json.Marshal(map[string]any{"roots": valid})
}

func encodeRoot(root *Root) (json.RawMessage, error) {
	if root == nil {
		return nil, errors.New("it is nil")
	}
	if err := checkRoot(root.URI); err != nil {
		return nil, fmt.Errorf("%q %w", root.URI, err)
	}
	return json.Marshal(root)
}

// maxRoot bounds the URI of a root, in bytes.
const maxRoot = 8 << 10

// checkRoot says what is wrong with the URI of a root. Whatever a server makes of it, by
// whatever decoding, must be the same file: what can be decoded twice is refused, and so is
// what names a file in two ways.
func checkRoot(uri string) error {
	u, err := url.Parse(uri)
	switch {
	case len(uri) > maxRoot:
		return fmt.Errorf("is longer than %d bytes", maxRoot)
	case !strings.HasPrefix(uri, "file://") || err != nil:
		return errors.New("is not a file:// URI")
	case u.User != nil || u.Host != "" && u.Host != "localhost":
		return errors.New("names another host")
	case strings.ContainsAny(uri, "?#"):
		return errors.New("has a query or a fragment")
	case u.Path == "" || u.Path != "/" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/"):
		return errors.New("has no absolute path, or dot or empty segments in it")
	case strings.ContainsAny(u.Path, `%\`) || strings.Contains(strings.ToLower(uri), "%2f"):
		return errors.New("has a percent sign, a backslash or an encoded slash in its path")
	case !utf8.ValidString(u.Path) || strings.ContainsRune(u.Path, utf8.RuneError) || strings.ContainsFunc(u.Path, unicode.IsControl):
		return errors.New("has control characters or is not UTF-8")
	case len(u.Path) == 3 && u.Path[2] == ':':
		return errors.New("has a drive without its root")
	}
	return nil
}
