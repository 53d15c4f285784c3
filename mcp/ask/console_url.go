package ask

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/lines"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// ElicitURL shows the page that the server wants visited, its host on a line of its
// own, and asks whether the user agrees; only the whole word yes means that they do.
// Then Open, or the user, opens the page. Unless the server waits for the answer, it
// is given when the server or the user says that the user is done.
func (c *Console) ElicitURL(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
	action, err := c.hold(ctx, func(d *dialog) error {
		if err := d.consent(r); err != nil {
			return err
		}
		d.open(r)
		if r.ServerWaits {
			return nil
		}
		return d.awaitDone(r)
	})
	return answered(action, nil, err)
}

func (d *dialog) consent(r *mcp.ElicitURLRequest) error {
	d.say("\nServer %s wants you to visit a web page:\n%s", strconv.Quote(line(r.Server)), quoted(r.Message))
	d.say("\n  Host:  >>> %s <<<\n\n  URL:   %s\n", plain.Text(r.Host), plain.Text(r.URL))
	for _, warning := range r.Warnings {
		d.say("  Warning: %s\n", line(warning))
	}
	return d.agree("Visit this page?", "yes")
}

func (d *dialog) open(r *mcp.ElicitURLRequest) {
	if d.console.Open == nil {
		d.say("Open this page in your browser:\n  %s\n", plain.Text(r.URL))
		return
	}
	if err := d.console.Open(d.ctx, r.URL); err != nil {
		d.say("The page could not be opened (%s). Open it in your browser:\n  %s\n", line(err.Error()), plain.Text(r.URL))
		return
	}
	d.say("The page was opened in your browser.\n")
}

// awaitDone waits until the user is done with a page.
func (d *dialog) awaitDone(r *mcp.ElicitURLRequest) error {
	d.completed = r.Completed
	for {
		text, err := d.ask("Press Enter when you are done there, or type /cancel: ")
		switch {
		case errors.Is(err, lines.ErrUntil):
			d.say("\nThe server says that you are done.\n")
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(text) == "":
			r.Done()
			return nil
		}
	}
}
