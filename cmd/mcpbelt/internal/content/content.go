// Package content has the commands about the resources and prompts of servers.
package content

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// Commands returns the commands about resources and prompts.
func Commands(b *belt.Belt) []*cobra.Command {
	return []*cobra.Command{resourcesCommand(b), readCommand(b), promptCommand(b)}
}

// A resource is one of a server, or a template of some, in the output of resources.
type resource struct {
	Server      string `json:"server"`
	URI         string `json:"uri,omitempty"`
	Template    string `json:"template,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Media       string `json:"media,omitempty"`
}

// A prompt is one of a server, in the output of prompt.
type prompt struct {
	Server      string     `json:"server"`
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []argument `json:"arguments,omitempty"`
}

// An argument is one of a prompt.
type argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

func resourcesCommand(b *belt.Belt) *cobra.Command {
	var watch string
	cmd := &cobra.Command{
		Use: "resources",
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch != "" {
				return b.WithServer(func(cmd *cobra.Command, c *belt.Catalog, s *config.Server) error {
					return follow(cmd.Context(), b, c, s, watch)
				})(cmd, args)
			}
			return b.WithServers(func(cmd *cobra.Command, c *belt.Catalog, servers []*config.Server, named bool) error {
				return list(cmd.Context(), b, c, servers, named)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&watch, "watch", "", "follow the resource of this `URI`")
	return cmd
}

// list shows the resources and templates of servers.
func list(ctx context.Context, b *belt.Belt, c *belt.Catalog, servers []*config.Server, named bool) error {
	found := map[string][]resource{}
	var failed []error
	err := b.Visit(ctx, c, servers, nil, "asking for resources", func(h *belt.Opened, s *config.Server, _ host.Status, err error) {
		all, o := content.New(h.Host), &content.ListOptions{Servers: []string{s.Name}}
		if err == nil {
			resources := all.Resources(ctx, o)
			for _, r := range resources.Items {
				found[s.Name] = append(found[s.Name], resource{Server: s.Name, URI: r.Resource.URI, Name: r.Resource.Name, Title: r.Resource.Title, Description: r.Resource.Description, Media: r.Resource.MIMEType})
			}
			templates := all.ResourceTemplates(ctx, o)
			for _, t := range templates.Items {
				found[s.Name] = append(found[s.Name], resource{Server: s.Name, Template: t.Template.URITemplate, Name: t.Template.Name, Title: t.Template.Title, Description: t.Template.Description, Media: t.Template.MIMEType})
			}
			err = belt.ExplainCall(s, errors.Join(resources.Err(), templates.Err()))
		}
		failed = append(failed, err)
	})
	if err != nil {
		return err
	}
	rows := []resource{}
	for _, s := range servers {
		rows = append(rows, found[s.Name]...)
	}
	t := &cli.Table{Headings: []string{"SERVER", "URI", "NAME", "DESCRIPTION"}}
	for _, r := range rows {
		t.Add(r.Server, r.URI+r.Template, r.Name, r.Description)
	}
	if err := b.Out.Found(t, map[string]any{"resources": rows}); err != nil {
		return err
	}
	return b.Failed(failed, named)
}

// use starts a server and calls f with its client.
func use(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, text string, f func(context.Context, *mcp.Client, *belt.Talk) error) error {
	talk, err := b.NewTalk(text, "", false)
	if err != nil {
		return err
	}
	defer talk.End()
	h, err := b.Use(ctx, c, s, talk, registry.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	err = h.WithClient(ctx, session.Key{Server: s.Name}, func(ctx context.Context, client *mcp.Client) error { return f(ctx, client, talk) })
	if wanted := talk.Wanted(); wanted != "" && ctx.Err() == nil {
		return belt.InputNeeded(s, wanted)
	}
	return belt.ExplainCall(s, err)
}

// follow writes a line whenever a resource may have changed.
func follow(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, uri string) error {
	return use(ctx, b, c, s, "following "+uri, func(ctx context.Context, client *mcp.Client, talk *belt.Talk) error {
		first := true
		for changed, err := range client.ResourceUpdates(ctx, uri) {
			if errors.Is(err, errors.ErrUnsupported) {
				return &cli.Error{Exit: cli.ToolError, Server: s.Name, Message: "server " + strconv.Quote(s.Name) + " does not tell of changes", Err: err}
			}
			if err != nil {
				return err
			}
			talk.End()
			kind := "changed"
			if first {
				kind, first = "following", false
			}
			b.Out.Printf("%s %s\n", kind, changed)
			err := b.Out.Err()
			if b.Out.AsJSON {
				err = b.Out.JSONLine(map[string]string{"event": kind, "uri": changed})
			}
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

func readCommand(b *belt.Belt) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "read",
		RunE: b.WithFirst(func(cmd *cobra.Command, c *belt.Catalog, s *config.Server, rest []string) error {
			switch len(rest) {
			case 0:
				return list(cmd.Context(), b, c, []*config.Server{s}, true)
			case 1:
			default:
				return cli.UsageError("the command is: mcpbelt read SERVER URI")
			}
			return read(cmd.Context(), b, c, s, rest[0], out)
		}),
	}
	cmd.Flags().StringVar(&out, "out", ".", "write what is no text into this `folder`")
	return cmd
}

func read(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, uri, out string) error {
	var res *mcp.ReadResourceResult
	err := use(ctx, b, c, s, "reading "+uri, func(ctx context.Context, client *mcp.Client, talk *belt.Talk) (err error) {
		res, err = client.ReadResource(ctx, uri, &mcp.RequestOptions{Progress: talk.Progress})
		return err
	})
	if err != nil {
		return err
	}
	name := uri[strings.LastIndexAny(uri, "/:")+1:]
	parts := []belt.Part{}
	for _, r := range res.Contents {
		part, err := b.Save(out, name, r.Text, r.Blob, r.MIMEType, r.URI)
		if err != nil {
			return err
		}
		parts = append(parts, *part)
	}
	switch {
	case b.Out.AsJSON:
		return b.Out.JSON(map[string]any{"server": s.Name, "contents": parts})
	case b.Env.OutTerminal:
		b.Show(parts)
		return nil
	}
	for _, p := range parts {
		if p.File != "" {
			p.Text = "wrote " + p.File + "\n"
		}
		b.Out.Exactly(p.Text)
	}
	return nil
}

func promptCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "prompt",
		RunE: b.WithFirst(func(cmd *cobra.Command, c *belt.Catalog, s *config.Server, rest []string) error {
			if len(rest) == 0 {
				return listPrompts(cmd.Context(), b, c, s)
			}
			values := map[string]string{}
			for _, arg := range rest[1:] {
				key, value, ok := strings.Cut(arg, "=")
				if !ok || key == "" {
					return cli.UsageError("the argument %q is not key=value", arg)
				}
				values[key] = value
			}
			return fillIn(cmd.Context(), b, c, s, rest[0], values)
		}),
	}
}

// prompts returns the prompts of a server.
func prompts(ctx context.Context, s *config.Server, client *mcp.Client) ([]prompt, error) {
	found := []prompt{}
	for p, err := range client.Prompts(ctx) {
		if errors.Is(err, errors.ErrUnsupported) {
			break
		}
		if err != nil {
			return nil, err
		}
		var arguments []argument
		for _, a := range p.Arguments {
			arguments = append(arguments, argument{a.Name, a.Description, a.Required})
		}
		found = append(found, prompt{Server: s.Name, Name: p.Name, Title: p.Title, Description: p.Description, Arguments: arguments})
	}
	return found, nil
}

func listPrompts(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server) error {
	var found []prompt
	err := use(ctx, b, c, s, "asking for prompts", func(ctx context.Context, client *mcp.Client, _ *belt.Talk) (err error) {
		found, err = prompts(ctx, s, client)
		return err
	})
	if err != nil {
		return err
	}
	t := &cli.Table{Headings: []string{"NAME", "ARGUMENTS", "DESCRIPTION"}}
	for _, p := range found {
		var arguments []string
		for _, a := range p.Arguments {
			arguments = append(arguments, a.Name+map[bool]string{false: "?"}[a.Required])
		}
		t.Add(p.Name, strings.Join(arguments, " "), p.Description)
	}
	return b.Out.Found(t, map[string]any{"prompts": found})
}

// fillIn writes the messages of a prompt.
func fillIn(ctx context.Context, b *belt.Belt, c *belt.Catalog, s *config.Server, name string, values map[string]string) error {
	var res *mcp.GetPromptResult
	err := use(ctx, b, c, s, "asking for "+name, func(ctx context.Context, client *mcp.Client, talk *belt.Talk) error {
		known, err := prompts(ctx, s, client)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(known, func(p prompt) bool { return p.Name == name })
		if i < 0 {
			return &cli.Error{Exit: cli.NotFound, Server: s.Name, Message: "server " + strconv.Quote(s.Name) + " has no prompt " + strconv.Quote(name), Cure: "mcpbelt prompt " + s.Name}
		}
		for _, a := range known[i].Arguments {
			if _, ok := values[a.Name]; a.Required && !ok {
				return cli.UsageError("the prompt %q needs %s=VALUE", name, a.Name)
			}
		}
		res, err = client.GetPrompt(ctx, name, values, &mcp.RequestOptions{Progress: talk.Progress})
		return err
	})
	if err != nil {
		return err
	}
	type message struct {
		Role string `json:"role"`
		belt.Part
	}
	messages := []message{}
	for _, m := range res.Messages {
		for _, p := range result.Pieces(&mcp.CallToolResult{Content: []mcp.Content{m.Content}}) {
			part, err := b.Save(".", name, p.Text, p.Data, p.Media, p.URI)
			if err != nil {
				return err
			}
			messages = append(messages, message{string(m.Role), *part})
		}
	}
	for _, m := range messages {
		b.Out.StyleLine(cli.Heading, m.Role+":")
		b.Show([]belt.Part{m.Part})
	}
	return b.Out.Result(map[string]any{"server": s.Name, "prompt": name, "description": res.Description, "messages": messages})
}
