package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/browser"
)

// An eitherWay shows a login in the browser of this machine. If none opens, the user at the
// terminal can paste the address at which another one ended, too.
type eitherWay struct{ env *cli.Env }

func (w *eitherWay) Start(ctx context.Context, registered []string) (auth.PromptSession, error) {
	s := &eitherSession{out: w.env.Stderr, closed: make(chan struct{})}
	open := w.env.Browse
	if open == nil {
		open = browser.Open
	}
	var err error
	s.PromptSession, err = (&auth.Loopback{Out: w.env.Stderr, Open: func(ctx context.Context, page string) error {
		err := open(ctx, page)
		if err != nil {
			s.once.Do(func() { close(s.closed) })
		}
		return err
	}}).Start(ctx, registered)
	if err == nil && w.env.InTerminal {
		s.pasted, err = (&auth.PasteURL{In: w.env.Stdin, Out: w.env.Stderr}).Start(ctx, []string{s.RedirectURI()})
	}
	return s, err
}

// An eitherSession is one login.
type eitherSession struct {
	auth.PromptSession                    // with the browser of this machine
	pasted             auth.PromptSession // nil without a terminal
	out                io.Writer
	once               sync.Once
	closed             chan struct{} // closed when no browser has opened
}

func (s *eitherSession) Show(ctx context.Context, p *auth.Pending) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type answer struct {
		callback string
		err      error
	}
	answers := make(chan answer, 2)
	show := func(ps auth.PromptSession) {
		callback, err := ps.Show(ctx, p)
		answers <- answer{callback, err}
	}
	var shown sync.WaitGroup
	defer shown.Wait()
	defer stop()
	shown.Go(func() { show(s.PromptSession) })
	select {
	case a := <-answers:
		return a.callback, a.err
	case <-s.closed:
	}
	if p.Authority.DeviceEndpoint != "" && p.Device == nil {
		fmt.Fprintf(s.out, "Without a browser here, there is a code for one on any device: mcpbelt login %s --device\n", p.Server)
	}
	if s.pasted != nil && p.Device == nil {
		shown.Go(func() { show(s.pasted) })
	}
	a := <-answers
	return a.callback, a.err
}

func (s *eitherSession) Close() error {
	if s.pasted == nil {
		return s.PromptSession.Close()
	}
	return errors.Join(s.PromptSession.Close(), s.pasted.Close())
}
