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
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Write a script that completes command lines in a shell",
		Long: `Completion writes a script for a shell, which completes commands, flags, and the names of
servers and tools. Names come from the config files and from what servers listed when
they were asked last: nothing is started.

  bash        source <(mcpbelt completion bash)          in ~/.bashrc
  zsh         mcpbelt completion zsh > "${fpath[1]}/_mcpbelt"
  fish        mcpbelt completion fish > ~/.config/fish/completions/mcpbelt.fish
  powershell  mcpbelt completion powershell | Out-String | Invoke-Expression`,
		Example:   "  mcpbelt completion bash",
		Args:      cli.Args(1, 1),
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
