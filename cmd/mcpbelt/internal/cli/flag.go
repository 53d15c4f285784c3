package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// Scope reads the value of the flag --scope.
func Scope(text string) (config.Scope, error) {
	switch s := config.Scope(text); s {
	case "global": // as Kode has it, and the next
		return config.ScopeUser, nil
	case "mcprc":
		return config.ScopeRC, nil
	case config.ScopeLocal, config.ScopeProject, config.ScopeRC, config.ScopeUser:
		return s, nil
	}
	return "", UsageError("the scope %q is none of local, project, rc and user", text)
}

// FixedFlag has the values of a flag of the command completed.
func FixedFlag(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails if there is no such flag
}

// The parts of a command: a word is made of pieces, each a character, one behind a backslash, or what is in quotes.
var (
	piece = regexp.MustCompile(`(?s)\\.|"(?:[^"\\]|\\.)*"|'[^']*'|[^ \t\n"'\\]`)
	word  = regexp.MustCompile(`(?:` + piece.String() + `)+`)
)

// SplitWords splits a command as a shell does that replaces nothing: at blanks that are
// not in quotes or behind a backslash.
func SplitWords(text string) ([]string, error) {
	if strings.Trim(word.ReplaceAllString(text, ""), " \t\n") != "" {
		return nil, UsageError("the command ends within quotes or behind a backslash")
	}
	words := word.FindAllString(text, -1)
	if len(words) == 0 {
		return nil, UsageError("the command is empty")
	}
	behind := regexp.MustCompile(`(?s)\\(.)`)
	for i, w := range words {
		words[i] = piece.ReplaceAllStringFunc(w, func(p string) string {
			if p[0] == '\'' {
				return p[1 : len(p)-1]
			}
			if p[0] == '"' {
				p = p[1 : len(p)-1]
			}
			return behind.ReplaceAllString(p, "$1")
		})
	}
	return words, nil
}
