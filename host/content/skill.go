package content

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// A Skill is a skill of one of the servers. Package skills has what models are told of them.
type Skill struct {
	// Server is the name of the server.
	Server string
	// Name is that of the skill with the server before it, such as "docs__refunds", as in
	// [Resource]. Of skills of a server that have the same name it is made of the URI instead,
	// so that no two of a list have the same.
	Name string
	// Address is that of its SKILL.md, see [Address]: the identity of the skill.
	Address string
	// Skill is what the server says of it: text of an untrusted party, passed on as it is.
	*mcp.Skill
	// Findings are as in [Resource].
	Findings []gate.Finding
}

// Skills asks all servers for their skills, as [Content.Resources] does for resources. Skills that are none are
// among the errors of their server, whose others are listed.
func (c *Content) Skills(ctx context.Context, opts *ListOptions) *Listing[Skill] {
	l := listAll(ctx, c, opts, "skills", skillsOf, func(server string, s *mcp.Skill) (string, Skill) {
		return s.URI, c.skill(server, s)
	})
	times := map[string]int{}
	for i := range l.Items {
		times[l.Items[i].Name]++
	}
	for i := range l.Items {
		if s := &l.Items[i]; times[s.Name] > 1 {
			s.Name = c.naming().Name(s.Server, strings.TrimPrefix(s.Root(), "skill://"))
		}
	}
	return l
}

// skillsOf yields the skills of a server, and at last what is wrong with others that it lists.
func skillsOf(c *mcp.Client, ctx context.Context) iter.Seq2[*mcp.Skill, error] {
	return func(yield func(*mcp.Skill, error) bool) {
		for s, err := range c.Skills(ctx) {
			if !yield(s, err) {
				return
			}
		}
		var all []error
		for _, p := range c.ListProblems() {
			if p.Method == protocol.ListSkills {
				all = append(all, fmt.Errorf("content: %s is no skill: %w", p.Path, p.Err))
			}
		}
		if err := errors.Join(all...); err != nil {
			yield(nil, err)
		}
	}
}

// GetSkill returns a skill by its address, also one that its server does not list. The errors are
// those of [Content.ReadResource] and [mcp.Client.GetSkill].
func (c *Content) GetSkill(ctx context.Context, address string, opts *mcp.RequestOptions) (found *Skill, err error) {
	server, _, _ := ParseAddress(address)
	err = c.at(ctx, address, func(ctx context.Context, client *mcp.Client, uri string) error {
		s, err := client.GetSkill(ctx, uri, opts)
		if err == nil {
			skill := c.skill(server, s)
			found = &skill
		}
		return err
	})
	return found, err
}

func (c *Content) skill(server string, s *mcp.Skill) Skill {
	var paths strings.Builder
	for _, f := range s.Files {
		paths.WriteString(f.Path + "\n")
	}
	found := gate.Merge(gate.Text("/uri", s.URI, false), findings("", "", "", s.Description), gate.Text("/resources", paths.String(), false))
	return Skill{Server: server, Name: c.naming().Name(server, s.Name), Address: Address(server, s.URI), Skill: s, Findings: found}
}
