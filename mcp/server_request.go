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

// handleRequest runs the handler for a server request and returns its result. The
// parameters were checked by jsonscan, or are nil. Waits says that the server waits for
// the answer. Of belongs to the request that caused it; nil if that is not known.
func (s *shared) handleRequest(ctx context.Context, method string, params json.RawMessage, waits bool, of *asked) (result json.RawMessage, err error) {
	if !s.opts.declares(method) {
		return nil, &JSONRPCError{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("this client has no %.80s", method)}
	}
	err = s.runHandler(method, func() error {
		switch method {
		case protocol.Elicit:
			result, err = s.elicit(ctx, params, waits, of)
		case protocol.Sample:
			result, err = s.sample(ctx, params, of)
		case protocol.ListRoots:
			result, err = s.listRoots(ctx)
		}
		return err
	})
	return result, err
}

// runHandler runs a handler of the program, unless too many run already.
func (s *shared) runHandler(method string, handle func() error) (err error) {
	limit := s.opts.maxHandlers()
	defer s.handling.Add(-1)
	if int(s.handling.Add(1)) > limit {
		return refused("more than %d requests at one time", limit)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of %s panicked: %v", method, r)
		}
	}()
	return handle()
}

// decodeServerRequest decodes a request that came with a result.
func decodeServerRequest(raw []byte) (method string, params json.RawMessage, err error) {
	err = decodeObject(raw,
		field{name: "method", into: &method},
		field{name: "params", into: func(value []byte) error {
			if !isObject(value) && !isNull(value) {
				return wrongKind(value, anObject)
			}
			params = value
			return nil
		}},
	)
	return method, params, err
}

// listRoots answers roots/list. Roots that are invalid are left out: there is no caller to
// return an error to.
func (s *shared) listRoots(ctx context.Context) (json.RawMessage, error) {
	roots, err := s.opts.ListRoots(ctx)
	if err != nil {
		return nil, err
	}
	valid := []json.RawMessage{}
	for _, root := range roots {
		encoded, err := encodeRoot(root)
		if err != nil {
			s.opts.Logger.Error("mcp: a root is left out", "server", s.name, "error", err)
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
