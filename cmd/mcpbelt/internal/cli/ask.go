package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// CanAsk reports whether there is a user at a terminal who can be asked.
func (o *Out) CanAsk() bool { return o.env.InTerminal && o.env.ErrTerminal && !o.AsJSON }

// Agree asks the user at the terminal a question, unless yes says that they agree. The error is why
// they do not, or cannot be asked; done says what is not done then, such as decided.
func (o *Out) Agree(ctx context.Context, yes bool, question, done string) error {
	if yes {
		return nil
	}
	if !o.CanAsk() {
		return &Error{Exit: ApprovalNeeded, Message: "nothing is " + done + " before you agree", Cure: "add --yes"}
	}
	ok, err := o.Confirm(ctx, question)
	if err == nil && !ok {
		err = &Error{Exit: Declined, Message: "nothing was " + done}
	}
	return err
}

// Confirm asks the user at the terminal a question that is answered with yes or no, and
// reports whether they said yes. Only y and yes are a yes.
func (o *Out) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := o.Ask(ctx, question+" [y/N]")
	return IsYes(answer), err
}

// IsYes reports whether an answer is a yes.
func IsYes(answer string) bool { return answer == "y" || answer == "yes" }

// Ask asks the user at the terminal a question, and returns the answer in lower case, which is empty if the input
// has ended.
func (o *Out) Ask(ctx context.Context, question string) (string, error) {
	answer, err := o.AskFor(ctx, question, false)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.ToLower(answer), err
}

// AskFor asks the user at the terminal for a text, which does not show while they type it if it is hidden. If the
// context ends first the error is its own; the goroutine that reads then ends with the process. If the input has ended
// the user has declined.
func (o *Out) AskFor(ctx context.Context, question string, hidden bool) (string, error) {
	fmt.Fprintf(o.env.Stderr, "%s ", plain.Text(question))
	read := func() (string, error) { return bufio.NewReader(o.env.Stdin).ReadString('\n') }
	if f, ok := o.env.Stdin.(*os.File); ok && hidden {
		shows, err := term.GetState(int(f.Fd()))
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(f.Fd()), shows) }()
		read = func() (string, error) {
			typed, err := term.ReadPassword(int(f.Fd()))
			fmt.Fprintln(o.env.Stderr)
			return string(typed), err
		}
	}
	var line string
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		line, err = read()
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(o.env.Stderr)
		return "", ctx.Err()
	case <-ended:
	}
	if line = strings.TrimSpace(line); line == "" && err != nil {
		return "", &Error{Exit: Declined, Message: "there was no answer", Err: err}
	}
	return line, nil
}
