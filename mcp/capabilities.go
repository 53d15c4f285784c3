package mcp

//lint:file-ignore SA1019 sampling and roots are deprecated and in use.

import (
	"bytes"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// extensionTasks is the extension of revision 2026-07-28 that lets a server
// answer with a task.
const extensionTasks = "io.modelcontextprotocol/tasks"

// capabilities returns what the client declares: for revision 2026-07-28, which is modern,
// or for the older ones.
func (c *Client) capabilities(modern bool) map[string]any {
	type set map[string]any
	caps := set{}
	if c.opts.Elicit != nil || c.opts.ElicitURL != nil {
		modes := set{}
		if c.opts.Elicit != nil {
			modes["form"] = set{}
		}
		if c.opts.ElicitURL != nil {
			modes["url"] = set{}
		}
		caps["elicitation"] = modes
	}
	if c.opts.Sample != nil {
		sampling := set{}
		if c.opts.SampleTools {
			sampling["tools"] = set{}
		}
		caps["sampling"] = sampling
	}
	if c.opts.Roots != nil {
		roots := set{}
		if !modern {
			roots["listChanged"] = true
		}
		caps["roots"] = roots
	}
	if extensions := c.extensions(modern); len(extensions) > 0 {
		caps["extensions"] = extensions
	}
	return caps
}

// extensions returns the extensions with their settings.
func (c *Client) extensions(modern bool) map[string]any {
	extensions := make(map[string]any, len(c.opts.Extensions)+1)
	if c.opts.Tasks && modern {
		extensions[extensionTasks] = map[string]any{}
	}
	for name, settings := range c.opts.Extensions {
		if settings == nil {
			settings = map[string]any{}
		}
		extensions[name] = settings
	}
	return extensions
}

// isRequestMeta reports whether requestMeta writes the key.
func isRequestMeta(key string) bool {
	return key == sdk.MetaKeyProtocolVersion || key == sdk.MetaKeyClientInfo || key == sdk.MetaKeyClientCapabilities
}

// requestMeta returns what revision 2026-07-28 wants in _meta of every request.
func (c *Client) requestMeta(version string) []byte {
	meta := []byte{}
	for _, member := range []struct {
		key   string
		value any
	}{
		{sdk.MetaKeyProtocolVersion, version},
		{sdk.MetaKeyClientInfo, c.opts.Implementation},
		{sdk.MetaKeyClientCapabilities, c.capabilities(true)},
	} {
		value, err := json.Marshal(member.value)
		if err != nil {
			continue // a plain struct of strings always encodes
		}
		meta = fmt.Appendf(meta, "%q:%s,", member.key, value)
	}
	return meta
}

// discoverParams returns the parameters of discover.
func (c *Client) discoverParams() json.RawMessage {
	return fmt.Appendf(nil, `{"_meta":{%s}}`, bytes.TrimSuffix(c.requestMeta(Revision20260728), []byte(",")))
}

// initializeParams returns the parameters of initialize.
func (c *Client) initializeParams() (json.RawMessage, error) {
	return json.Marshal(map[string]any{
		"protocolVersion": Revision20251125,
		"capabilities":    c.capabilities(false),
		"clientInfo":      c.opts.Implementation,
	})
}
