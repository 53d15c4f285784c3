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
	access.Key
	Secret string `json:"secret,omitempty"` // of one that was just made
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

// withKeys has a command open the keys first.
func withKeys(b *belt.Belt, run func(cmd *cobra.Command, keys *access.Keys, args []string) error) belt.Run {
	return b.WithDatabase(func(cmd *cobra.Command, args []string) error {
		keys, err := openKeys(cmd.Context(), b)
		if err == nil && keys == nil {
			err = &cli.Error{Exit: cli.Failed, Message: "there is no folder to keep keys in", Cure: "set HOME or XDG_STATE_HOME"}
		}
		if err != nil {
			return err
		}
		return run(cmd, keys, args)
	})
}

func keysCommand(b *belt.Belt) *cobra.Command {
	keys := &cobra.Command{
		Use: "keys",
		RunE: withKeys(b, func(cmd *cobra.Command, all *access.Keys, _ []string) error {
			list, err := all.List(cmd.Context())
			if err != nil {
				return err
			}
			shown := []shownKey{}
			t := &cli.Table{Headings: []string{"ID", "LABEL", "USER", "FOR", "EXPIRES", "USED"}, Empty: "There are no keys."}
			for _, k := range list {
				shown = append(shown, shownKey{Key: k})
				t.Add(k.ID, k.Label, k.User, grantText(k.Grant), dayOf(k.Expires), dayOf(k.Used))
			}
			return b.Out.Found(t, map[string][]shownKey{"keys": shown})
		}),
	}
	b.AddDatabaseFlags(keys)
	keys.AddCommand(createKeyCommand(b), revokeKeyCommand(b))
	return keys
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
		Use: "create",
		RunE: withKeys(b, func(cmd *cobra.Command, keys *access.Keys, args []string) error {
			if lasts < 0 {
				return cli.UsageError("--expires is negative")
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
			b.Out.Printf("%s\n", secret)
			return b.Out.Result(shownKey{key, secret})
		}),
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
		Use: "revoke",
		RunE: withKeys(b, func(cmd *cobra.Command, keys *access.Keys, args []string) error {
			err := keys.Revoke(cmd.Context(), args[0])
			if errors.Is(err, access.ErrNoKey) {
				return &cli.Error{Exit: cli.NotFound, Message: "there is no key " + strconv.Quote(args[0]), Cure: "mcpbelt keys lists them"}
			}
			if err != nil {
				return err
			}
			b.Out.Printf("revoked %s\n", args[0])
			return b.Out.Result(map[string]string{"id": args[0]})
		}),
	}
}
