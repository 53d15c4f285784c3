package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/skilltest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Clients get the skills that were accepted, of the servers that they see, and can verify them.
func TestSkillsPass(t *testing.T) {
	server := skilltest.New(map[string]string{
		"skill://refunds/SKILL.md": skilltest.File("refunds", "Pays back", ""), "skill://refunds/a%20b.md": "A form",
		"skill://held/SKILL.md": skilltest.File("held", "Waits", ""), "skill://live/SKILL.md": skilltest.File("live", "L\ndynamic: yes", ""),
	})
	s := new(site).open(t, &host.Options{
		StateDir: host.NoState, OpenWait: -1, Registry: registry.New(&registry.Options{Ledger: ledger.New(nil)}),
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: server.Run}, nil
		},
	}, &gateway.Options{Profiles: map[string]gateway.Profile{"shop": {Servers: []string{"shop"}}}}, commands("docs", "shop")...)
	ctx := hosttest.Watchdog(t)
	all := skills.New(s.host, nil)
	hosttest.Eventually(t, "all are listed", func() bool { return len(all.List(ctx, nil).Items) == 6 })
	for _, name := range []string{"docs__refunds", "shop__refunds"} {
		assert.OK(t, all.Accept(ctx, "ada", assert.Value(all.Find(ctx, name))(t)))
	}
	const docs, shop = "mcpbelt:docs/skill://refunds/SKILL.md", "mcpbelt:shop/skill://refunds/SKILL.md"
	for path, want := range map[string]string{"/mcp": docs + " " + shop, "/p/shop/mcp": shop, "/s/docs/mcp": "skill://refunds/SKILL.md"} {
		for _, revision := range both {
			c := s.newUser(t, path, "", revision, nil)
			var uris []string
			for skill, err := range c.Skills(ctx) {
				assert.OK(t, err)
				uris = append(uris, skill.URI)
				again := assert.Value(c.GetSkill(ctx, skill.URI, nil))(t)
				assert.Equal(t, string(assert.Value(c.ReadSkillFile(ctx, again, "a b.md", nil))(t)), "A form")
			}
			slices.Sort(uris)
			assert.Equal(t, strings.Join(uris, " "), want, path)
			for _, none := range []string{strings.ReplaceAll(uris[0], "refunds", "held"), strings.ReplaceAll(uris[0], "refunds", "live"), strings.ReplaceAll(uris[0], "refunds", "none"), strings.Replace(docs, "docs", "nobody", 1)} {
				_, err := c.GetSkill(ctx, none, nil)
				assert.Is(t, err, mcp.ErrResourceNotFound, none)
			}
		}
	}
}
