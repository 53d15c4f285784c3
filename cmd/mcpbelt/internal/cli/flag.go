package cli

import (
	"slices"
	"strings"

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

// SplitWords splits a command as a shell does that replaces nothing: at blanks that are
// not in quotes or behind a backslash.
func SplitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, in, escaped := rune(0), false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, in = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, in = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 || escaped {
		return nil, UsageError("the command ends within quotes or behind a backslash")
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, UsageError("the command is empty")
	}
	return words, nil
}
