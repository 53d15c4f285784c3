package root

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// bashWords is what the script for bash needs of the package bash-completion, for where
// that is not installed.
const bashWords = `if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    _get_comp_words_by_ref() {
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    }
fi
`

// completionCommand returns the command that writes the completion script of a shell.
func completionCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:       "completion",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			write := map[string]func(io.Writer) error{
				"bash": func(out io.Writer) error {
					_, err := io.WriteString(out, bashWords)
					return errors.Join(err, root.GenBashCompletionV2(out, true))
				},
				"zsh":        root.GenZshCompletion,
				"fish":       func(out io.Writer) error { return root.GenFishCompletion(out, true) },
				"powershell": root.GenPowerShellCompletionWithDesc,
			}[args[0]]
			if write == nil {
				return cli.UsageError("there is no completion for %q: it is one of bash, zsh, fish and powershell", args[0])
			}
			return write(cmd.OutOrStdout())
		},
	}
}
