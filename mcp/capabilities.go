package mcp

//lint:file-ignore SA1019 sampling and roots are deprecated and in use.

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// extensionTasks is the extension of revision 2026-07-28 that lets a server
// answer with a task.
const extensionTasks = "io.modelcontextprotocol/tasks"

// capabilities returns what the handshake of the older revisions says that this
// client can do.
func (c *Client) capabilities() *sdk.ClientCapabilities {
	caps := &sdk.ClientCapabilities{}
	if c.opts.Elicit != nil || c.opts.ElicitURL != nil {
		caps.Elicitation = &sdk.ElicitationCapabilities{}
	}
	if c.opts.Elicit != nil {
		caps.Elicitation.Form = &sdk.FormElicitationCapabilities{}
	}
	if c.opts.ElicitURL != nil {
		caps.Elicitation.URL = &sdk.URLElicitationCapabilities{}
	}
	if c.opts.Sample != nil {
		caps.Sampling = &sdk.SamplingCapabilities{}
		if c.opts.SampleTools {
			caps.Sampling.Tools = &sdk.SamplingToolsCapabilities{}
		}
	}
	if c.opts.Roots != nil {
		caps.RootsV2 = &sdk.RootCapabilities{ListChanged: true}
	}
	for name, settings := range c.opts.Extensions {
		caps.AddExtension(name, settings)
	}
	return caps
}

// modernCapabilities returns the same for revision 2026-07-28. The SDK's own form
// has members which that does not know.
func (c *Client) modernCapabilities() map[string]any {
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
		caps["roots"] = set{}
	}
	if extensions := c.extensions(); len(extensions) > 0 {
		caps["extensions"] = extensions
	}
	return caps
}

// extensions returns the extensions with their settings.
func (c *Client) extensions() map[string]any {
	extensions := make(map[string]any, len(c.opts.Extensions)+1)
	if c.opts.Tasks {
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
		{sdk.MetaKeyClientCapabilities, c.modernCapabilities()},
	} {
		value, err := json.Marshal(member.value)
		if err != nil {
			continue // a plain struct of strings always encodes
		}
		meta = fmt.Appendf(meta, "%q:%s,", member.key, value)
	}
	return meta
}

// probe returns the session's probe for revision 2026-07-28 with the metadata of
// all other requests: the session does not know everything that is declared.
func (c *Client) probe(req *jsonrpc.Request) *jsonrpc.Request {
	meta := bytes.TrimSuffix(c.requestMeta(Revision20260728), []byte(","))
	return &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: fmt.Appendf(nil, `{"_meta":{%s}}`, meta)}
}
