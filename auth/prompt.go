package auth

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// ErrDeclined reports that the user does not want to log in.
var ErrDeclined = errors.New("auth: the user declined to log in")

// A Prompt shows logins to a user. [Loopback] and [PasteURL] are ready ones.
type Prompt interface {
	// Start prepares for one login. registered are the redirect URIs that the
	// client is registered with, the last used first; one of them should be
	// used if that is possible.
	Start(ctx context.Context, registered []string) (PromptSession, error)
}

// A PromptSession shows one login to a user.
type PromptSession interface {
	// RedirectURI is where the browser is to come back to.
	RedirectURI() string
	// Show shows the login and returns the address at which the browser came
	// back. For a login by device code it shows the code and returns "" at once.
	// If the user does not want to it returns [ErrDeclined].
	Show(ctx context.Context, p *Pending) (callback string, err error)
	// Close ends it. It is called once, also after an error.
	Close() error
}

// untilExpired bounds the wait for a user: later than p.Expires their answer is
// good for nothing.
func untilExpired(ctx context.Context, p *Pending) (context.Context, context.CancelFunc) {
	if p.Expires.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, p.Expires)
}

// output is where the ready prompts write to; standard error if it is nil.
type output struct{ w io.Writer }

// say writes a text as a whole.
func (o output) say(text string) error {
	w := o.w
	if w == nil {
		w = os.Stderr
	}
	_, err := io.WriteString(w, text)
	return err
}

// invitation says who wants the user to log in, and where. What of it comes from
// others is made harmless.
func invitation(p *Pending) string {
	return "\nServer " + strconv.Quote(plain.Line(p.Server)) + " needs you to log in at " + plain.Line(p.Authority.Issuer) + "\n"
}

// address is the page to be visited, and the code to be typed there if there is
// one.
func address(p *Pending) string {
	text := "  " + oneLine(p.URL) + "\n"
	if p.Device != nil {
		text += "and type this code there:\n  " + plain.Line(p.Device.UserCode) + "\n"
	}
	return text
}

// oneLine is a URL as it can be shown, all of it.
func oneLine(url string) string { return plain.Text(strings.ReplaceAll(url, "\n", " ")) }
