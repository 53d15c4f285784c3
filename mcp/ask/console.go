package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxLine bounds what can be typed as one answer, in bytes.
const maxLine = 64 << 10

var (
	errEnded   = errors.New("nobody answers any more")
	errTooLong = errors.New("too long")
	// errStale is the error of a line that may be an answer to an earlier question.
	errStale = errors.New("begun before")
	// errCompleted ends the wait for a line when the server says that the user is
	// done.
	errCompleted = errors.New("the user is done")
)

// A Console asks the user at a terminal, one question at a time: others wait
// until their turn comes or their context ends. Its methods are safe for
// concurrent use. The fields must not be changed once it is in use.
//
// At any time the user can type /decline or /cancel instead of an answer. When In
// has ended, every question is cancelled. A line that may have been meant for a
// question which has ended without it is dropped, and asked for again if there is
// another question by then: nobody agrees by mistake. What was typed ahead of any
// question is its answer, as with other programs.
type Console struct {
	// In is where the user's answers come from, line by line; only what is asked
	// for is read. Default: [os.Stdin].
	In io.Reader
	// Out is where the questions go. Writing to it must not block for long.
	// Default: [os.Stderr].
	Out io.Writer
	// Open opens a page that the user has agreed to visit, such as [OpenURL].
	// If it is nil the user is asked to open the page himself.
	Open func(ctx context.Context, url string) error

	mu      sync.Mutex // guards the following
	ready   bool       // they are set
	in      *bufio.Reader
	turn    chan struct{}   // one token: the dialog that is held
	closed  chan struct{}   // closed by Close
	shut    bool            // Close was called
	over    error           // why nothing can be read any more
	waiting chan<- typed    // who waits for a line
	reading <-chan struct{} // closed when the read under way has ended; nil if none is
}

// typed is what one read has brought.
type typed struct {
	line string
	err  error
}

// setUpLocked makes a zero Console ready.
func (c *Console) setUpLocked() {
	if c.ready {
		return
	}
	c.ready = true
	in := c.In
	if in == nil {
		in = os.Stdin
	}
	c.in = bufio.NewReaderSize(in, maxLine)
	c.turn = make(chan struct{}, 1)
	c.closed = make(chan struct{})
}

func (c *Console) out() io.Writer {
	if c.Out == nil {
		return os.Stderr
	}
	return c.Out
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
	reading := c.reading
	c.mu.Unlock()
	in, ok := c.In.(interface{ SetReadDeadline(time.Time) error })
	if c.In == nil {
		in, ok = os.Stdin, true
	}
	if reading != nil && ok && in.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-reading
		_ = in.SetReadDeadline(time.Time{})
	}
	return nil
}

// readLine waits for a line of the user. Only the dialog that has the turn calls
// it. It waits no longer than for completed.
func (c *Console) readLine(ctx context.Context, completed <-chan struct{}) (string, error) {
	line := make(chan typed, 1) // room for a line that nobody waits for any more
	c.mu.Lock()
	switch {
	case c.shut:
		c.mu.Unlock()
		return "", errEnded
	case c.over != nil:
		err := c.over
		c.mu.Unlock()
		return "", err
	}
	c.waiting = line
	begunBefore := c.reading != nil
	if !begunBefore {
		done := make(chan struct{})
		c.reading = done
		go c.read(done)
	}
	c.mu.Unlock()
	select {
	case t := <-line:
		if begunBefore && t.err == nil {
			return "", errStale
		}
		return t.line, t.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-completed:
		return "", errCompleted
	case <-c.closed:
		return "", errEnded
	}
}

// read reads one line and gives it to who waits for it.
func (c *Console) read(done chan<- struct{}) {
	t := scanLine(c.in)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.err != nil && !errors.Is(t.err, errTooLong) {
		t.err = errEnded
		c.over = errEnded
	}
	if c.waiting != nil {
		c.waiting <- t
		c.waiting = nil
	}
	c.reading = nil
	close(done)
}

func scanLine(in *bufio.Reader) typed {
	line, err := in.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err == nil {
			err = errTooLong
		}
	}
	if err != nil && errors.Is(err, io.EOF) && text != "" {
		err = nil // the last line has no end
	}
	return typed{text, err}
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
	case errors.Is(err, errEnded):
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
	if _, err := io.WriteString(d.console.out(), text); err != nil {
		return fmt.Errorf("%w: %w", errEnded, err)
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
		text, err := d.console.readLine(d.ctx, d.completed)
		if errors.Is(err, errTooLong) {
			d.say("That is longer than %d bytes.\n", maxLine)
			continue
		}
		if errors.Is(err, errStale) {
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

// agree asks until the user says yes, or no, which ends the dialog.
func (d *dialog) agree(question string) error {
	for {
		text, err := d.ask(question + " Type yes or no: ")
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "yes":
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
