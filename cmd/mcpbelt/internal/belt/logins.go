package belt

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/filestore"
)

// OpenLogins opens the logins of an account, which are kept in the database or the state folder, or
// without one end with the program. Browsers come back to a prompt, or else to a URL; without both
// no login is begun. Close the logins, and then what is returned with them.
func (b *Belt) OpenLogins(ctx context.Context, account string, prompt auth.Prompt, redirectURL string) (*login.Logins, io.Closer, error) {
	folder, err := b.sessions(account)
	if err != nil {
		return nil, nil, err
	}
	store := session.Memory()
	switch {
	case b.Database != nil:
		store, err = b.Database.Sessions(ctx, account)
	case folder != "":
		store, err = filestore.Open(ctx, folder, &filestore.Options{Keys: database.StateKeys(b.Env)})
	}
	if err != nil {
		return nil, nil, err
	}
	if prompt == nil && redirectURL == "" {
		prompt = noPrompt{}
	}
	logins, err := login.New(store, &login.Options{Session: session.Options{Prompt: prompt, RedirectURL: redirectURL}})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return logins, store, nil
}

// noPrompt is the prompt of commands that begin no login.
type noPrompt struct{}

func (noPrompt) Start(context.Context, []string) (auth.PromptSession, error) {
	return nil, auth.ErrDeclined
}

// sessions returns the folder of the sessions of an account, the empty one being that of
// a user without --as; empty if nothing is kept.
func (b *Belt) sessions(account string) (string, error) {
	if account != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`).MatchString(account) {
		return "", cli.UsageError("the account %q is not 1 to 64 letters, digits and . _ @ -", account)
	}
	switch {
	case b.Env.StateDir == "":
		return "", nil
	case account == "":
		return filepath.Join(b.Env.StateDir, "sessions"), nil
	}
	return filepath.Join(b.Env.StateDir, "accounts", account), nil
}

// Accounts returns the accounts that have logins, the empty one among them.
func (b *Belt) Accounts() []string {
	var list []string
	if folder, err := b.sessions(""); err == nil && folder != "" {
		if _, err := os.Stat(folder); err == nil {
			list = append(list, "")
		}
		entries, _ := os.ReadDir(filepath.Join(b.Env.StateDir, "accounts"))
		for _, e := range entries {
			list = append(list, e.Name())
		}
	}
	return list
}
