package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/lines"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// ErrDeclined reports that the user does not want to log in.
//
//cure:begin a login again when the user wants one
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
	_, err := io.WriteString(cmp.Or[io.Writer](o.w, os.Stderr), text)
	return err
}

// invitation says who wants the user to log in, and where. Text of others in it is made
// harmless.
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

// pasteURI is where the browser comes back to unless something else is
// registered. Nothing listens there.
const pasteURI = "http://127.0.0.1:33418/callback"

// A PasteURL is a [Prompt] for machines without a browser: it shows the URL at a
// terminal, and the user, who opens it anywhere, pastes the address at which their
// browser ended. An empty line, or the end of In, declines.
//
// The zero PasteURL is ready. It is safe for concurrent use: logins are shown one
// at a time. While it waits for a line, one goroutine reads. Closing the login
// ends that and waits for it, if In has read deadlines, as pipes and network
// connections have; otherwise it ends with the next line, which is lost, or with
// In.
type PasteURL struct {
	// In is where the user pastes, line by line. Only what is asked for is
	// read. Default: [os.Stdin].
	In io.Reader
	// Out gets what is to be shown. Writing to it must not block for long.
	// Default: [os.Stderr].
	Out io.Writer

	mu    sync.Mutex // guards the following
	lines *lines.Reader
	turn  chan struct{} // one token: the login that is shown
}

// Start chooses the redirect URI: the first on a loopback address of those
// that the client is registered with, or else http://127.0.0.1:33418/callback. Nothing listens there.
func (p *PasteURL) Start(ctx context.Context, registered []string) (PromptSession, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines == nil {
		p.lines = lines.New(cmp.Or[io.Reader](p.In, os.Stdin))
		p.turn = make(chan struct{}, 1)
	}
	redirect := pasteURI
	for _, raw := range registered {
		if loopbackURI(raw) != nil {
			redirect = raw
			break
		}
	}
	return &pasting{lines: p.lines, turn: p.turn, out: output{p.Out}, redirect: redirect}, nil
}

// A pasting is one login whose answer is pasted.
type pasting struct {
	lines    *lines.Reader
	turn     chan struct{}
	out      output
	redirect string
	shown    bool // it holds the turn
}

// RedirectURI implements [PromptSession].
func (x *pasting) RedirectURI() string { return x.redirect }

// Show implements [PromptSession].
func (x *pasting) Show(ctx context.Context, p *Pending) (callback string, err error) {
	if p.Device != nil {
		return "", x.say(p, invitation(p)+"Open this page in a browser, on any machine:\n"+address(p))
	}
	ctx, cancel := untilExpired(ctx, p)
	defer cancel()
	select {
	case x.turn <- struct{}{}:
		x.shown = true
	case <-ctx.Done():
		return "", x.late(p, ctx.Err())
	}
	question := invitation(p) + "Open this page in a browser, on any machine:\n" + address(p) +
		"In the end the browser goes to an address that begins with\n  " + oneLine(x.redirect) + "\n" +
		"and probably shows that it cannot be reached: that is fine. Copy the whole address\n" +
		"from the browser's address bar and paste it here. An empty line: do not log in.\n> "
	var partial string
	for {
		if err := x.say(p, question); err != nil {
			return "", err
		}
		line, err := x.lines.Read(ctx, nil)
		switch {
		case errors.Is(err, lines.ErrEnded):
			return "", ErrDeclined
		case errors.Is(err, lines.ErrTooLong):
			question = fmt.Sprintf("That is longer than %d bytes. Paste the address again: ", lines.Max)
			continue
		case errors.Is(err, lines.ErrStale):
			question = "That line may have been meant for the question before. Paste the address again: "
			continue
		case err != nil:
			return "", x.late(p, err)
		}
		line = clean(line)
		if line == "" && partial == "" {
			return "", ErrDeclined
		}
		// A long address may come in several lines.
		for _, text := range []string{line, partial + line} {
			if callback, ok := x.answer(p, text); ok {
				return callback, nil
			}
		}
		partial += line
		if line == "" || len(partial) > lines.Max {
			partial = line
		}
		question = "That is not the whole address, or not that of this login: it must have \"state=\" and \"code=\" in it.\n" +
			"Paste the whole address, or the rest of it: "
	}
}

func (x *pasting) say(p *Pending, text string) error {
	if err := x.out.say(text); err != nil {
		return fmt.Errorf("auth: server %q: the login cannot be shown: %w", p.Server, err)
	}
	return nil
}

func (x *pasting) late(p *Pending, err error) error {
	return fmt.Errorf("auth: server %q: waiting for the user to paste an address: %w", p.Server, err)
}

// invisible matches blanks, control characters and what takes no room.
var invisible = regexp.MustCompile(`[\s\p{Z}\p{Cc}\p{Cf}]`)

// clean takes away what gets into a line on its way through clipboards and
// terminals: blanks, control characters, quotes around it, and the marks by which
// terminals tell pasted text from typed.
func clean(line string) string {
	line = strings.NewReplacer("\x1b[200~", "", "\x1b[201~", "").Replace(line)
	line = invisible.ReplaceAllString(line, "")
	return strings.Trim(line, "\"'`<>\u00ab\u00bb\u2018\u2019\u201c\u201d")
}

// answer returns the address at which the browser came back to this login, if
// text is that or the query of it.
func (x *pasting) answer(p *Pending, text string) (callback string, ok bool) {
	text, _, _ = strings.Cut(text, "#")
	_, query, found := strings.Cut(text, "?")
	if !found {
		query = text
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", false
	}
	state := values["state"]
	if len(state) != 1 || p.State == "" || subtle.ConstantTimeCompare([]byte(state[0]), []byte(p.State.Reveal())) != 1 {
		return "", false
	}
	if values.Get("code") == "" && values.Get("error") == "" {
		return "", false
	}
	// It may have been cut inside its last parameter.
	issuer := p.Authority.Issuer
	if got := values.Get("iss"); got != issuer && strings.HasPrefix(issuer, got) && values.Has("iss") {
		return "", false
	}
	u, err := url.Parse(x.redirect)
	if err != nil {
		return "", false
	}
	u.RawQuery = query
	return u.String(), true
}

// Close lets the next login be shown.
func (x *pasting) Close() error {
	if x.shown {
		x.shown = false
		x.lines.Stop()
		<-x.turn
	}
	return nil
}
