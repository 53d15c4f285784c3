package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

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

// Ask asks the user at the terminal a question, and returns the answer in lower case. If the context ends
// first the error is its own; the goroutine that reads then ends with the process.
func (o *Out) Ask(ctx context.Context, question string) (string, error) {
	fmt.Fprintf(o.env.Stderr, "%s ", plain.Text(question))
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(o.env.Stdin).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(o.env.Stderr)
		return "", ctx.Err()
	case answer := <-answers:
		return answer, nil
	}
}
