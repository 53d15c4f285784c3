package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/lines"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// The actions of an answer.
const (
	accept  = "accept"
	decline = "decline"
	cancel  = "cancel"
)

// A Console asks the user at a terminal, one question at a time: others wait
// until their turn comes or their context ends. Its methods are safe for
// concurrent use. The fields must not be changed once it is in use.
//
// At any time the user can type /decline or /cancel instead of an answer. When In
// has ended, every question is cancelled. A line that may have been meant for a
// question which has ended without it is dropped, and asked for again if there is
// another question by then, so that no user agrees by mistake. Text that is typed
// ahead of a question is its answer, as with other programs.
type Console struct {
	// In is where the user's answers come from, line by line; only what is asked
	// for is read. Default: [os.Stdin].
	In io.Reader
	// Out is where the questions go. Writing to it must not block for long.
	// Default: [os.Stderr].
	Out io.Writer
	// Open opens a page that the user has agreed to visit, such as [OpenURL].
	// If it is nil the user is asked to open the page.
	Open func(ctx context.Context, url string) error

	mu     sync.Mutex // guards the following
	ready  bool       // they are set
	lines  *lines.Reader
	turn   chan struct{} // one token: the dialog that is held
	closed chan struct{} // closed by Close
	shut   bool          // Close was called
}

// setUpLocked makes a zero Console ready.
func (c *Console) setUpLocked() {
	if c.ready {
		return
	}
	c.ready = true
	c.lines = lines.New(cmp.Or[io.Reader](c.In, os.Stdin))
	c.turn = make(chan struct{}, 1)
	c.closed = make(chan struct{})
}

// Close cancels the question that is being asked and all later ones. Of the
// Console's own there is at most one goroutine, which reads a line. If In has read
// deadlines, as pipes and network connections have, Close ends it and waits for
// that. Otherwise it ends with the next line or with In, which Close leaves open.
func (c *Console) Close() error {
	c.mu.Lock()
	c.setUpLocked()
	if !c.shut {
		c.shut = true
		close(c.closed)
	}
	reader := c.lines
	c.mu.Unlock()
	reader.Close()
	return nil
}

// A dialog is one conversation with the user, during which no other is held.
type dialog struct {
	console   *Console
	ctx       context.Context
	completed <-chan struct{} // ends the wait for a line; nil if nothing does
	pending   strings.Builder // said and not written yet
}

// left is the error of a dialog that the user ended, by an action.
type left string

func (l left) Error() string { return string(l) }

// hold holds a dialog when its turn comes. Ends of the user's making become an
// answer; errors are those of ctx and of the dialog itself.
func (c *Console) hold(ctx context.Context, talk func(*dialog) error) (action string, err error) {
	c.mu.Lock()
	c.setUpLocked()
	c.mu.Unlock()
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	case <-c.closed:
		return cancel, nil
	}
	defer func() { <-c.turn }()
	d := &dialog{console: c, ctx: ctx}
	err = talk(d)
	if err != nil && ctx.Err() != nil {
		d.say("\n(Nobody waits for this answer any more.)\n")
	}
	_ = d.flush()
	var quit left
	switch {
	case errors.As(err, &quit):
		return string(quit), nil
	case errors.Is(err, lines.ErrEnded):
		return cancel, nil
	case err != nil:
		return "", err
	}
	return accept, nil
}

func (d *dialog) say(format string, args ...any) { fmt.Fprintf(&d.pending, format, args...) }

// flush shows what was said. Without the question there can be no answer.
func (d *dialog) flush() error {
	text := d.pending.String()
	d.pending.Reset()
	if _, err := io.WriteString(cmp.Or[io.Writer](d.console.Out, os.Stderr), text); err != nil {
		return fmt.Errorf("%w: %w", lines.ErrEnded, err)
	}
	return nil
}

// ask shows what was said and returns the line that the user types.
func (d *dialog) ask(prompt string) (string, error) {
	for {
		d.say("%s", prompt)
		if err := d.flush(); err != nil {
			return "", err
		}
		text, err := d.console.lines.Read(d.ctx, d.completed)
		if errors.Is(err, lines.ErrTooLong) {
			d.say("That is longer than %d bytes.\n", lines.Max)
			continue
		}
		if errors.Is(err, lines.ErrStale) {
			d.say("That line may have been meant for the question before. Please type it again.\n")
			continue
		}
		if err != nil {
			return "", err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "/decline":
			return "", left(decline)
		case "/cancel":
			return "", left(cancel)
		}
		return text, nil
	}
}

// agree asks until the user says yes, or what is short for it, or no, which ends the dialog.
func (d *dialog) agree(question, short string) error {
	for {
		text, err := d.ask(question + " Type yes or no: ")
		if err != nil {
			return err
		}
		switch text = strings.ToLower(strings.TrimSpace(text)); text {
		case "yes", short:
			return nil
		case "no", "n":
			return left(decline)
		}
	}
}

// answered turns the end of a dialog into a result.
func answered(action string, content map[string]any, err error) (*mcp.ElicitResult, error) {
	if err != nil {
		return nil, err
	}
	if action != accept {
		content = nil
	}
	return &mcp.ElicitResult{Action: action, Content: content}, nil
}
