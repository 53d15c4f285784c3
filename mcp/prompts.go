package mcp

import (
	"context"
	"encoding/json"
	"iter"
)

const (
	methodListPrompts = "prompts/list"
	methodGetPrompt   = "prompts/get"
)

func promptList() *list[Prompt] {
	return &list[Prompt]{
		method:  methodListPrompts,
		member:  "prompts",
		noun:    "prompt",
		offered: func(l *life) bool { return l.info.capabilities != nil && l.info.capabilities.Prompts != nil },
		decode:  decodePrompt,
		key:     func(p *Prompt) string { return p.Name },
		cached:  true,
	}
}

// Prompts yields the server's prompts as [Client.Resources] does its resources.
// A server without prompts is not asked.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return each(ctx, c, promptList())
}

// GetPrompt fills in a prompt. What it returns is text of the server's, meant for
// a model: the user should have chosen the prompt. The errors are those of
// [Client.CallTool].
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string, opts *RequestOptions) (*GetPromptResult, error) {
	if err := c.enter(); err != nil {
		return nil, c.explain(&request{method: methodGetPrompt}, err)
	}
	defer c.leave()
	var arguments json.RawMessage
	if len(args) > 0 {
		arguments, _ = json.Marshal(args) // strings always encode
	}
	get := &promptGet{}
	get.begin(c, methodGetPrompt, opts, member{"name", appendQuoted(nil, name)}, member{"arguments", arguments})
	if err := get.run(ctx, get); err != nil {
		return nil, err
	}
	return get.result, nil
}

// A promptGet is one GetPrompt.
type promptGet struct {
	exchange
	result *GetPromptResult
}

// decode implements answer.
func (p *promptGet) decode(raw json.RawMessage, l *life) (need *inputRequired, err error) {
	p.result, need, err = decodePromptResult(raw, l.modern())
	return need, err
}
