package skills_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/skilltest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// chat stands for the loop with a model.
func chat(_ context.Context, _ *registry.Registry, prompt, _ string) error {
	_, err := fmt.Print(prompt)
	return err
}

func answer(ctx context.Context, h *host.Host, question string) error {
	c := skills.New(h, nil)                                // Options name folders of your own
	if err := h.Registry().Add(c.Tools()...); err != nil { // load_skill and read_skill_file
		return err
	}
	if err := review(ctx, c); err != nil {
		return err
	}
	return chat(ctx, h.Registry(), c.Instructions(ctx, 0), question)
}

// review shows the user what servers teach, and accepts it.
func review(ctx context.Context, c *skills.Catalogue) error {
	for _, s := range c.List(ctx, nil).Items {
		if s.Held == nil || s.Err != nil {
			continue
		}
		text, err := c.Read(ctx, &s, mcp.SkillFile) // verified
		if err != nil {
			return err
		}
		fmt.Printf("%s, %s: %d files, %d bytes\n%s", s.Name, s.Held.Kind, len(s.Files), len(text), s.Held.Summary())
		if err := c.Accept(ctx, "ada", &s); err != nil { // who agreed
			return err
		}
	}
	return nil
}

func ExampleCatalogue() {
	ctx := context.Background()
	h := inProcess(ctx, skilltest.New(map[string]string{"skill://refunds/SKILL.md": skilltest.File("refunds", "Pays back", "")}))
	defer h.Close()
	if err := answer(ctx, h, "Pay Bo back."); err != nil {
		fmt.Println(err)
	}
	s, err := skills.New(h, nil).Find(ctx, "docs__refunds")
	fmt.Printf("%q %v\n", s.AllowedTools(), err)
	// Output:
	// docs__refunds, new: 1 files, 45 bytes
	// Skills are instructions for tasks. Before you begin a task that one of these is for, read it with load_skill:
	// - docs__refunds (of the server docs): Pays back
	// "" <nil>
}
