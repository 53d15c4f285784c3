package cli

import "strings"

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
