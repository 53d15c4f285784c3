package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// Icons are handed on if they can be shown without danger, and never fetched.
func TestIcons(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		canary := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was fetched", r.URL) }))
		defer canary.Close()
		good := []string{canary.URL + "/icon.png", "data:image/png;base64,AAE=", "HTTPS" + strings.TrimPrefix(canary.URL, "https") + "/i"}
		bad := []string{"javascript:alert(1)", "JavaScript:alert(1)", "file:///etc/passwd", "ftp://a.example/i", "ws://a.example/i", "http://a.example/i",
			"//a.example/i", "i.png", "", ":", "https", " https://a.example/i", "java\nscript:x", "vbscript:x"}
		var icons []string
		for _, src := range append(bad, good...) {
			icons = append(icons, fmt.Sprintf(`{"src":%q,"mimeType":"image/png","sizes":["48x48"],"theme":"dark"}`, src))
		}
		member := `"icons":[` + strings.Join(icons, ",") + `]`
		server := featured(t, revision, mcptest.Script{
			"tools/list":               mcptest.Result(`{"tools":[{"name":"a",` + member + `}]}`),
			"resources/list":           mcptest.Result(`{"resources":[{"uri":"a:1","name":"a",` + member + `}]}`),
			"resources/templates/list": mcptest.Result(`{"resourceTemplates":[{"uriTemplate":"a:1","name":"a",` + member + `}]}`),
			"prompts/list":             mcptest.Result(`{"prompts":[{"name":"a",` + member + `}]}`),
			"tools/call":               mcptest.Result(`{"content":[{"type":"resource_link","uri":"a:1","name":"a",` + member + `}]}`),
			"initialize": mcptest.Result(fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"s","version":"1",%s}}`,
				revision, allFeatures, member)),
			"server/discover": mcptest.Result(fmt.Sprintf(
				`{"resultType":"complete","supportedVersions":[%q],"capabilities":%s,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1",%s}}}`,
				revision, allFeatures, member)),
		}, refuseDiscover(revision))
		c := newClient(t, p.to(server), nil)
		tools := assert.Value(c.Tools(t.Context()))(t)
		resources := assert.Value(collect(c.Resources(t.Context())))(t)
		templates := assert.Value(collect(c.ResourceTemplates(t.Context())))(t)
		prompts := assert.Value(collect(c.Prompts(t.Context())))(t)
		link, ok := mustCall(t, c, "a").Content[0].(*mcp.ResourceLink)
		assert.Equal(t, ok, true, "no link")
		for where, icons := range map[string][]sdk.Icon{
			"tool": tools[0].Icons, "resource": resources[0].Icons, "template": templates[0].Icons, "prompt": prompts[0].Icons,
			"link": link.Icons, "server": c.State().Server.Icons,
		} {
			var got []string
			for _, icon := range icons {
				got = append(got, icon.Source)
				assert.Equal(t, [...]any{icon.MIMEType, len(icon.Sizes), string(icon.Theme)}, [...]any{"image/png", 1, "dark"}, "%s", where)
			}
			assert.Equal(t, strings.Join(got, " "), strings.Join(good, " "), "icons of a %s: join", where)
		}
	})
}

// refuseDiscover makes a server of an older revision know no server/discover.
func refuseDiscover(revision string) mcptest.Script {
	if revision >= mcp.Revision20260728 {
		return nil
	}
	return mcptest.Script{"server/discover": mcptest.Error(-32601, "method not found")}
}
