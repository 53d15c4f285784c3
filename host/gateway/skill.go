package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// getSkill answers skills/get.
func (r *request) getSkill(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	address := message.String(r.params.URI)
	server, uri, err := r.peer.uri(address)
	var s *skills.Skill
	if err == nil {
		s, err = r.gateway.skills.Find(ctx, content.Address(server, uri))
	}
	switch {
	case isNotFound(err), errors.Is(err, errors.ErrUnsupported), errors.As(err, new(*skills.UnknownError)), err == nil && (s.Server != server || !r.gateway.serves(s)):
		return nil, message.InvalidParams("no skill is served at %.500s", address)
	case err != nil:
		return nil, requestError(err)
	}
	return r.cacheable(message.Marshal(map[string]any{"skill": r.peer.skillEntry(s)})), nil
}

// serves reports whether clients get a skill. Where there is no ledger nothing is held back.
func (g *Gateway) serves(s *skills.Skill) bool {
	return s.Err == nil && (s.Held == nil || g.host.Registry().Ledger() == nil)
}

// skillEntry returns the entry of a skill, with the addresses that the view has for its files.
func (v shown) skillEntry(s *skills.Skill) any {
	address := func(uri string) string {
		if v.server != "" {
			return uri
		}
		return content.Address(s.Server, uri)
	}
	files := []any{}
	for _, f := range s.Files {
		files = append(files, map[string]any{"uri": address(f.URI), "digest": f.Digest, "size": f.Size})
	}
	return map[string]any{"uri": address(s.URI), "frontmatter": s.Frontmatter, "resources": files}
}

// hasSkills reports whether the capabilities have the extension for skills.
func (c capabilities) hasSkills() bool { return c.Extensions[protocol.ExtensionSkills] != nil }
