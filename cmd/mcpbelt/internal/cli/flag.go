package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// Scope reads the value of the flag --scope.
func Scope(text string) (config.Scope, error) {
	scopes := []config.Scope{config.ScopeProject, config.ScopeRC, config.ScopeUser}
	if s := config.Scope(text); slices.Contains(scopes, s) {
		return s, nil
	}
	return "", UsageError("the scope %q is none of project, rc and user", text)
}

// FixedFlag has the values of a flag of the command completed.
func FixedFlag(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails if there is no such flag
}
