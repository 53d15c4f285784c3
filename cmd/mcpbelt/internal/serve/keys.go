package serve

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/host/access"
)

// A shownKey is a key in the output of keys.
type shownKey struct {
	ID      string        `json:"id"`
	Label   string        `json:"label"`
	User    string        `json:"user,omitempty"`
	Grant   *access.Grant `json:"grant,omitempty"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires,omitzero"`
	Used    time.Time     `json:"used,omitzero"`
	Secret  string        `json:"secret,omitempty"` // of one that was just made
}

func newShownKey(k access.Key) shownKey {
	return shownKey{ID: k.ID, Label: k.Label, User: k.User, Grant: k.Grant, Created: k.Created, Expires: k.Expires, Used: k.Used}
}

// openKeys opens the keys in the database or, without one, those of the user; nil without a state folder.
func openKeys(ctx context.Context, b *belt.Belt) (*access.Keys, error) {
	if b.Database != nil {
		keys, err := access.LoadKeys(ctx, b.Database.Kept(), "keys")
		return keys, database.Unusable(err)
	}
	if b.Env.StateDir == "" {
		return nil, nil
	}
	return access.OpenKeys(ctx, filepath.Join(b.Env.StateDir, "keys.json"))
}

// needKeys is openKeys for a command that is of no use without.
func needKeys(ctx context.Context, b *belt.Belt) (*access.Keys, error) {
	if err := b.OpenDatabase(ctx); err != nil {
		return nil, err
	}
	keys, err := openKeys(ctx, b)
	if err == nil && keys == nil {
		err = &cli.Error{Exit: cli.Failed, Message: "there is no folder to keep keys in", Cure: "set HOME or XDG_STATE_HOME"}
	}
	return keys, err
}

func keysCommand(b *belt.Belt) *cobra.Command {
	keys := &cobra.Command{
		Use:  "keys",
		Args: cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := needKeys(cmd.Context(), b)
			if err != nil {
				return err
			}
			list, err := all.List(cmd.Context())
			if err != nil {
				return err
			}
			return showKeys(b, list)
		},
	}
	b.AddDatabaseFlags(keys)
	keys.AddCommand(createKeyCommand(b), revokeKeyCommand(b))
	return keys
}

func showKeys(b *belt.Belt, list []access.Key) error {
	if b.Out.AsJSON {
		shown := []shownKey{}
		for _, k := range list {
			shown = append(shown, newShownKey(k))
		}
		return b.Out.JSON(map[string][]shownKey{"keys": shown})
	}
	if len(list) == 0 {
		b.Out.Printf("There are no keys.\n")
		return nil
	}
	t := &cli.Table{Headings: []string{"ID", "LABEL", "USER", "FOR", "EXPIRES", "USED"}}
	for _, k := range list {
		t.Add(k.ID, k.Label, k.User, grantText(k.Grant), dayOf(k.Expires), dayOf(k.Used))
	}
	b.Out.Table(t)
	return nil
}

func dayOf(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Local().Format(time.DateOnly)
}

// grantText says what a key is for.
func grantText(g *access.Grant) string {
	if g == nil {
		return "all"
	}
	parts := slices.Concat(g.Profiles, g.Servers, g.Tools)
	if g.ReadOnly {
		parts = append(parts, "reading")
	}
	if len(parts) == 0 {
		parts = append(parts, "all")
	}
	if g.Manage {
		parts = append(parts, "managing")
	}
	return strings.Join(parts, " ")
}

func createKeyCommand(b *belt.Belt) *cobra.Command {
	var g access.Grant
	var user string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:  "create",
		Args: cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lasts < 0 {
				return cli.UsageError("--expires is negative")
			}
			keys, err := needKeys(cmd.Context(), b)
			if err != nil {
				return err
			}
			o := access.KeyOptions{Label: args[0], User: args[0]}
			if cmd.Flags().Changed("user") {
				o.User = user
			}
			if len(g.Servers)+len(g.Tools) > 0 || g.ReadOnly || g.Mode != "" {
				o.Grant = &g
			}
			if lasts > 0 {
				o.Expires = time.Now().Add(lasts)
			}
			secret, key, err := keys.Create(cmd.Context(), o)
			if err != nil {
				return err
			}
			if b.Out.AsJSON {
				shown := newShownKey(key)
				shown.Secret = secret
				return b.Out.JSON(shown)
			}
			b.Out.Printf("%s\n", secret)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&user, "user", "", "use the logins and approvals of this `user`; empty: of nobody but the key (default: LABEL)")
	f.StringSliceVar(&g.Servers, "server", nil, "only for servers of this `pattern`; can be repeated")
	f.StringSliceVar(&g.Tools, "tool", nil, "only for tools of this `pattern`, as SERVER__TOOL; can be repeated")
	f.BoolVar(&g.ReadOnly, "read-only", false, "only for tools that say that they only read")
	f.StringVar(&g.Mode, "mode", "", "show tools in this `mode`: direct, search or code")
	f.DurationVar(&lasts, "expires", 0, "make it good for this `time`; 0: for ever")
	return cmd
}

func revokeKeyCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:  "revoke",
		Args: cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := needKeys(cmd.Context(), b)
			if err != nil {
				return err
			}
			err = keys.Revoke(cmd.Context(), args[0])
			if errors.Is(err, access.ErrNoKey) {
				return &cli.Error{Exit: cli.NotFound, Message: "there is no key " + strconv.Quote(args[0]), Cure: "mcpbelt keys lists them"}
			}
			if err == nil && b.Out.AsJSON {
				err = b.Out.JSON(map[string]string{"id": args[0]})
			}
			return err
		},
	}
}
