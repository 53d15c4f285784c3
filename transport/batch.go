package transport

import (
	"fmt"
	"strings"
)

// checkBatch refuses what must not be given to a batch file of Windows. The system has
// cmd.exe read its whole command line, and os/exec quotes for other programs only: a
// part of an argument could run as a command. A program of unknown ending may be a
// batch file. The error does not hold the argument, which may be a secret.
func checkBatch(path string, args []string) error {
	name := strings.ToLower(strings.TrimRight(path, ". ")) // as Windows takes it
	if strings.HasSuffix(name, ".exe") || strings.HasSuffix(name, ".com") {
		return nil
	}
	const advice = "which cmd.exe would read itself, since the program is a batch file or has no ending: name the .exe that it runs, such as node.exe with the script as first argument, or do without the character"
	if c, found := firstRead(path, `"%!^&|<>`); found {
		return fmt.Errorf("the path has %q, %s", c, advice)
	}
	for i, arg := range args {
		if c, found := firstRead(arg, `"%!^&|<>()`); found {
			return fmt.Errorf("argument %d has %q, %s", i+1, c, advice)
		}
	}
	return nil
}

// firstRead returns the first character of a text that is one of these, or a control
// character other than a tab.
func firstRead(text, these string) (c rune, found bool) {
	for _, c := range text {
		if strings.ContainsRune(these, c) || c < ' ' && c != '\t' || c >= 0x7f && c < 0xa0 {
			return c, true
		}
	}
	return 0, false
}
