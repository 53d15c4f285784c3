package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ParseEntry reads the entry of a server as it stands in a file of any program, or such a file
// with one server, and keeps references as they are written. An entry that does not say its name
// has the one that is given. A nil opts means the defaults. The error says what is wrong with the
// text or the entry, and has no secret of it.
func ParseEntry(ctx context.Context, name string, data []byte, opts *Options) (*Server, error) {
	var shown struct{ Entry json.RawMessage } // as mcpbelt get --json shows it
	if json.Unmarshal(data, &shown) == nil && shown.Entry != nil {
		data = shown.Entry
	}
	o := *cmp.Or(opts, new(Options))
	o.AsWritten = true
	whole, err := Parse(ctx, "the entry", data, &o)
	switch {
	case err == nil && len(whole.Servers) == 1:
		return whole.Servers[0], nil
	case err == nil && len(whole.Servers) > 1:
		return nil, errors.New("there is more than one server in it: give one of them, or import the file (mcpbelt import)")
	}
	quoted, _ := json.Marshal(name)
	var first *Server
	for _, key := range []string{"mcpServers", "servers", "context_servers", "mcp"} {
		c, failed := Parse(ctx, "the entry", fmt.Appendf(nil, "{%q:{%s:%s}}", key, quoted, data), &o)
		if err = failed; failed != nil || len(c.Servers) != 1 {
			continue
		}
		s := c.Servers[0]
		if s.Err == nil && len(s.Warnings) == 0 && len(s.Extra) == 0 {
			return s, nil
		}
		if first == nil || first.Err != nil && s.Err == nil {
			first = s
		}
	}
	switch {
	case first == nil:
		return nil, fmt.Errorf("the entry is not a JSON object: %w", err)
	case first.Err != nil:
		return nil, errors.New(first.MaskError(first.Err))
	}
	return first, nil
}
