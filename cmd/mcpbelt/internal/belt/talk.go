package belt

//lint:file-ignore SA1019 Sampling is deprecated since revision 2026-07-28, and works.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// A Talk lets servers ask the user at the terminal while a command waits for them, and
// shows a spinner when no question is asked. Without a terminal it asks nothing, and notes
// what servers wanted. Its methods are safe for concurrent use.
type Talk struct {
	belt    *Belt
	console *ask.Console
	model   []string // the command that answers sampling requests; empty: none
	yes     bool     // it does so without asking

	agreed atomic.Bool // to log in

	mu      sync.Mutex // guards the following
	text    string     // of the spinner
	spinner *cli.Spinner
	asking  int    // questions that are asked now
	wanted  string // see Wanted
	ended   bool
}

// NewTalk begins a talk with the text of its spinner. The model is a command that answers
// sampling requests which the user agrees to, all with yes: it gets the request as JSON and writes the
// text of the answer. Empty: the user types it. End the talk.
func (b *Belt) NewTalk(text, model string, yes bool) (*Talk, error) {
	t := &Talk{belt: b, text: text, yes: yes, console: &ask.Console{In: b.Env.Stdin, Out: b.Env.Stderr, Open: b.Env.Browse}}
	if model != "" {
		words, err := cli.SplitWords(model)
		if err != nil {
			return nil, err
		}
		t.model = words
	}
	t.spinner = b.Out.Spin(text)
	return t, nil
}

// End removes the spinner and cancels what is asked.
func (t *Talk) End() {
	if t.belt.Out.CanAsk() {
		_ = t.console.Close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.rest()
}

// rest removes the spinner.
func (t *Talk) rest() {
	if t.spinner != nil {
		t.spinner.End()
		t.spinner = nil
	}
}

// Say changes the text of the spinner.
func (t *Talk) Say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = text
	if t.spinner != nil {
		t.spinner.Say(text)
	}
}

// Progress shows what a server reports of its progress.
func (t *Talk) Progress(p *mcp.ProgressParams) {
	text := strings.TrimSpace(fmt.Sprintf("%v %s", p.Progress, p.Message))
	if p.Total > 0 {
		const cells = 20
		part := min(max(p.Progress/p.Total, 0), 1)
		done := int(part * cells)
		text = strings.TrimSpace(fmt.Sprintf("[%s%s] %3.0f%% %s", strings.Repeat("#", done), strings.Repeat(".", cells-done), part*100, p.Message))
	}
	t.Say(text)
}

// pause takes the spinner away for a question, until the function that it returns is called.
func (t *Talk) pause() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking++
	t.rest()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.asking--; t.asking == 0 && !t.ended {
			t.spinner = t.belt.Out.Spin(t.text)
		}
	}
}

// Ask asks the user a question.
func (t *Talk) Ask(ctx context.Context, question string) (string, error) {
	defer t.pause()()
	return t.belt.Out.Ask(ctx, question)
}

// What servers want when they ask.
const (
	fromUser  = "wants to ask the user something"
	fromModel = "wants to ask a model something"
)

// refuse lets servers ask the user and a model, in vain. Note, if there is one, gets what they wanted.
func refuse(o *mcp.ClientOptions, note func(wanted string)) {
	refused := func(wanted string) error {
		if note != nil {
			note(wanted)
		}
		return errors.New("no one can be asked")
	}
	o.Elicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, refused(fromUser) }
	o.ElicitURL = func(_ context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		return nil, refused(fromUser)
	}
	o.Sample = func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, refused(fromModel) }
	o.SampleTools, o.Tasks = true, true
}

// Wanted returns what a server wanted to ask and could not, without a terminal; empty if it asked nothing.
func (t *Talk) Wanted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted
}

// Client returns the options of clients with which servers can ask the user: at a terminal, and else in vain. The
// user is the model if no command is.
func (t *Talk) Client() mcp.ClientOptions {
	o := mcp.ClientOptions{Tasks: true}
	if !t.belt.Out.CanAsk() {
		refuse(&o, func(wanted string) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.wanted = wanted
		})
		if len(t.model) > 0 && t.yes {
			o.Sample = t.sample
		}
		return o
	}
	o.Elicit = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		defer t.pause()()
		return t.console.Elicit(ctx, r)
	}
	o.ElicitURL = func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		defer t.pause()()
		return t.console.ElicitURL(ctx, r)
	}
	sample := t.console.Sample(nil)
	switch {
	case len(t.model) > 0 && t.yes:
		sample = t.sample
	case len(t.model) > 0:
		sample = t.console.Sample(t.sample)
	}
	o.SampleTools, o.Sample = true, func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
		defer t.pause()()
		return sample(ctx, r)
	}
	return o
}

// sample has the command of the model answer a request.
func (t *Talk) sample(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
	request, err := json.Marshal(r.Params)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, t.model[0], t.model[1:]...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), t.belt.Env.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the model's command: %w", err)
	}
	return &mcp.SampleResult{Model: t.model[0], Role: "assistant", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimRight(string(text), "\n")}}}, nil
}

// Use opens a host with one server, starts that, and returns when it is ready. A login that
// the server wants is begun if the user at the terminal agrees. Close the host, then end
// the talk.
func (b *Belt) Use(ctx context.Context, c *Catalog, s *config.Server, t *Talk, r registry.Options) (*Opened, error) {
	o := &OpenOptions{Client: new(t.Client()), Registry: r}
	if b.Out.CanAsk() {
		o.Prompt = &agreedPrompt{Prompt: &auth.Loopback{Open: b.Env.Browse, Out: b.Env.Stderr}, agreed: &t.agreed}
	}
	h, err := b.Open(ctx, c, []*config.Server{s}, o)
	if err != nil {
		return nil, err
	}
	err = Start(ctx, h.Host, s)
	if NeedsLogin(err) && b.Out.CanAsk() && h.Logins != nil {
		err = t.logIn(ctx, h, s, err)
	}
	err = explainReady(ctx, s, err)
	if !h.Warm[s.Name] && (err == nil || ctx.Err() == nil) {
		b.Looked(s, len(h.Registry().Snapshot().Tools()), err)
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// An agreedPrompt declines logins until the user has agreed to them.
type agreedPrompt struct {
	auth.Prompt
	agreed *atomic.Bool
}

// Start implements auth.Prompt.
func (p *agreedPrompt) Start(ctx context.Context, redirects []string) (auth.PromptSession, error) {
	if !p.agreed.Load() {
		return nil, auth.ErrDeclined
	}
	return p.Prompt.Start(ctx, redirects)
}

// logIn asks the user whether they want to log in, and does it. The error is why if they
// do not.
func (t *Talk) logIn(ctx context.Context, h *Opened, s *config.Server, why error) error {
	answer, err := t.Ask(ctx, "Server "+quote(s.Name)+" wants a login. Log in now? [y/N]")
	if err != nil {
		return err
	}
	if !cli.IsYes(answer) {
		return why
	}
	defer t.pause()()
	t.agreed.Store(true)
	begun, err := h.Login(ctx, session.Key{Server: s.Name})
	if err == nil {
		err = begun.Wait(ctx)
	}
	if err == nil {
		err = h.Restart(ctx, s.Name)
	}
	return Explain(s, err)
}
