package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/session"
)

// maxFindings is from how many findings of a prompt no more of its arguments is looked at.
const maxFindings = 8

// A Prompt is a prompt of one of the servers.
type Prompt struct {
	// Server is the name of the server.
	Server string
	// Name is what it is called among the prompts of all servers, such as
	// "github__review", as a tool of that name would be by the [names.Scheme] of the
	// registry. It depends on nothing but the server and the prompt's own name, so that
	// BareTool counts as ServerTool.
	Name string
	// Prompt is what the server says of it: text of an untrusted party, passed on as
	// it is.
	Prompt *mcp.Prompt
	// Findings are as in [Resource].
	Findings []gate.Finding
}

// An UnknownPromptError reports a name that no prompt of the servers has.
//
//cure:take a name of the lists; the text proposes the nearest
type UnknownPromptError struct {
	// Name is what was asked for.
	Name string
	// Suggestions are up to three names that may have been meant, the nearest first.
	Suggestions []string
	// err is an [*host.UnknownServerError] if there is no such server, what the server
	// says if it does not know the prompt, or why servers that may have it could not
	// be asked. It may be nil.
	err error
}

// Error names the prompt, safe to print and cut off if it is long.
func (e *UnknownPromptError) Error() string {
	text := "content: no prompt " + shown(e.Name) + didYouMean(e.Suggestions)
	if e.err != nil && !errors.As(e.err, new(*host.UnknownServerError)) {
		text += fmt.Sprintf(" (%v)", e.err)
	}
	return text
}

// Unwrap returns the cause.
func (e *UnknownPromptError) Unwrap() error { return e.err }

// Outcome returns [mcp.Answered] if it is the server that does not know the prompt, and
// otherwise [mcp.NotSent].
func (e *UnknownPromptError) Outcome() mcp.Outcome {
	if errors.As(e.err, new(*mcp.ServerError)) {
		return mcp.Answered
	}
	return mcp.NotSent
}

// Prompts asks all servers for their prompts, as [Content.Resources] does for
// resources. Of prompts of a server with the same name the first counts.
func (c *Content) Prompts(ctx context.Context, opts *ListOptions) *Listing[Prompt] {
	names := c.naming()
	l := listAll(ctx, c, opts, "prompts", (*mcp.Client).Prompts, func(server string, p *mcp.Prompt) (string, Prompt) {
		found := findings("", p.Name, p.Title, p.Description)
		for i, a := range p.Arguments {
			if a != nil && len(found) < maxFindings {
				found = append(found, findings(fmt.Sprintf("/arguments/%d", i), a.Name, a.Title, a.Description)...)
			}
		}
		return p.Name, Prompt{Server: server, Name: names.Name(server, p.Name), Prompt: p, Findings: gate.Merge(found)}
	})
	tellApartPrompts(l)
	return l
}

// tellApartPrompts leaves out prompts whose names are the same though they are different,
// which takes a search for such names: their hashes are equal.
func tellApartPrompts(l *Listing[Prompt]) {
	count := map[string]int{}
	for _, p := range l.Items {
		count[p.Name]++
	}
	if len(count) == len(l.Items) {
		return
	}
	kept := l.Items[:0]
	for _, p := range l.Items {
		if count[p.Name] == 1 {
			kept = append(kept, p)
			continue
		}
		l.Errors[p.Server] = errors.Join(l.Errors[p.Server], fmt.Errorf(
			"content: server %q: the prompt %s is left out: another prompt has the name %q, too", p.Server, shown(p.Prompt.Name), p.Name))
	}
	l.Items = kept
}

// GetPrompt fills in a prompt of one of the servers, as ctx's user where users have
// connections of their own. A lazy server is started for it. It returns text of the
// server's, meant for a model: the user should have chosen the prompt.
//
// The error is an [*UnknownPromptError] if there is no such prompt, and otherwise
// that of [host.Host.Client] or [mcp.Client.GetPrompt].
func (c *Content) GetPrompt(ctx context.Context, name string, args map[string]string, opts *mcp.RequestOptions) (res *mcp.GetPromptResult, err error) {
	err = c.atPrompt(ctx, name, func(ctx context.Context, c *mcp.Client, prompt string) error {
		res, err = c.GetPrompt(ctx, prompt, args, opts)
		return err
	})
	return res, err
}

// CompletePrompt asks the server how the value of an argument of a prompt may go on.
// Known has the values of the arguments that have one; it may be nil. The errors are
// those of [Content.GetPrompt] and [mcp.Client.Complete].
func (c *Content) CompletePrompt(ctx context.Context, name string, argument mcp.CompleteArgument, known map[string]string, opts *mcp.RequestOptions) (res *mcp.CompleteResult, err error) {
	err = c.atPrompt(ctx, name, func(ctx context.Context, c *mcp.Client, prompt string) error {
		res, err = c.Complete(ctx, completion(&mcp.CompleteReference{Type: "ref/prompt", Name: prompt}, argument, known), opts)
		return err
	})
	return res, err
}

// atPrompt calls f with the client of the server that has a prompt, and what the server
// calls it.
func (c *Content) atPrompt(ctx context.Context, name string, f func(ctx context.Context, c *mcp.Client, prompt string) error) error {
	server, prompt, err := c.findPrompt(ctx, name)
	if err != nil {
		return err
	}
	err = c.host.WithClient(ctx, session.Key{Server: server}, func(ctx context.Context, c *mcp.Client) error { return f(ctx, c, prompt) })
	if refused, ok := errors.AsType[*mcp.ServerError](err); ok && refused.Err.Code == jsonrpc.CodeInvalidParams {
		if _, _, unknown := c.lookForPrompt(ctx, name, &ListOptions{Servers: []string{server}, Start: true}, err); unknown != nil {
			return unknown
		}
	}
	return err
}

// findPrompt returns where the prompt of a name is. A plain name says so itself; for
// one that ends in a hash the servers that run are asked for their prompts.
func (c *Content) findPrompt(ctx context.Context, name string) (server, prompt string, err error) {
	names := c.naming()
	server, prompt, ok := names.split(name)
	if !ok {
		var servers []string
		for _, s := range c.host.Servers() {
			servers = append(servers, s.Name)
		}
		return "", "", &UnknownPromptError{Name: name, Suggestions: nearest(name, servers)}
	}
	if names.Name(server, prompt) != name {
		return c.lookForPrompt(ctx, name, nil, nil)
	}
	_, err = c.host.Inspect(server)
	if unknown, ok := errors.AsType[*host.UnknownServerError](err); ok {
		wrong := &UnknownPromptError{Name: name, err: err}
		for _, near := range nearest(server, unknown.Known) {
			wrong.Suggestions = append(wrong.Suggestions, names.Name(near, prompt))
		}
		return "", "", wrong
	}
	return server, prompt, nil // whatever else is wrong, the request says it
}

// lookForPrompt looks for a prompt in the lists of the servers that run, or of those that opts
// name. Err is why the list is asked for.
func (c *Content) lookForPrompt(ctx context.Context, name string, opts *ListOptions, err error) (server, prompt string, _ error) {
	l := c.Prompts(ctx, opts)
	if err != nil && l.Err() != nil {
		return "", "", err
	}
	var have []string
	for _, p := range l.Items {
		if p.Name == name {
			return p.Server, p.Prompt.Name, nil
		}
		have = append(have, p.Name)
	}
	return "", "", &UnknownPromptError{Name: name, Suggestions: nearest(name, have), err: cmp.Or(err, l.Err())}
}
