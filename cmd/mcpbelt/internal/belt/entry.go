package belt

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// ParseEntry reads the entry of a server as it stands in a file of any program, or such a file with one server. References are
// as written.
func (b *Belt) ParseEntry(ctx context.Context, name string, data []byte) (*config.Server, error) {
	var shown struct{ Entry json.RawMessage } // as get --json shows it
	if json.Unmarshal(data, &shown) == nil && shown.Entry != nil {
		data = shown.Entry
	}
	o := b.Reading()
	o.AsWritten = true
	whole, err := config.Parse(ctx, "the entry", data, o)
	switch {
	case err == nil && len(whole.Servers) == 1:
		return whole.Servers[0], nil
	case err == nil && len(whole.Servers) > 1:
		return nil, cli.UsageError("there is more than one server: mcpbelt import takes a file")
	}
	quoted, _ := json.Marshal(name)
	var first *config.Server
	for _, key := range []string{"mcpServers", "servers", "context_servers", "mcp"} {
		c, failed := config.Parse(ctx, "the entry", []byte(fmt.Sprintf("{%q:{%s:%s}}", key, quoted, data)), o)
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
		return nil, cli.UsageError("the entry is not a JSON object: %v", err)
	case first.Err != nil:
		return nil, cli.UsageError("%s", first.MaskError(first.Err))
	}
	return first, nil
}
