package mask

import (
	_ "embed" // the names of variables
	"encoding/pem"
	"slices"
	"strings"
)

// Value returns how the value of a variable or header is shown if it is a secret.
// A value that a program may run, or that names a file with more, is shown as it is,
// whatever it is called: this is for the person who allows a launch, so of what [Named] masks by its
// form it shows words that could be the name of a program.
func Value(name, separator, value string) (string, bool) {
	if separator == "=" && showsCode(name, value) {
		return "", false
	}
	shown, ok := strings.CutPrefix(Args([]string{name + separator + value})[0], name+separator)
	if !ok {
		return Stars, true
	}
	return shown, shown != value
}

// showsCode reports whether a variable looks like one by which programs find code: its
// value is a path, options, or words of a shell, or its name says so.
func showsCode(name, value string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' })
	if len(words) == 0 || leadsToCode(name) || strings.HasPrefix(strings.ToUpper(name), "GIT_CONFIG_") {
		return true
	}
	switch words[len(words)-1] {
	case "COMMAND", "CMD", "HELPER", "PROGRAM", "EXEC", "HOOK", "HOOKS", "MODULE", "PLUGIN", "SCRIPT", "SHELL",
		"EDITOR", "PAGER", "OPTIONS", "OPTS", "FLAGS", "ARGS", "PRELOAD", "ASKPASS":
		return true
	}
	_, rest, scheme := strings.Cut(value, " ") // as in "Bearer token"
	if !scheme {
		rest = value
	}
	return !isPEM(value) && (LooksLikePath(value) || strings.HasPrefix(value, "-") || strings.ContainsAny(rest, " \t\n;|&<>()`"))
}

// LooksLikePath reports whether a program might take s for a file, a list of folders, or
// for what a file would hold.
func LooksLikePath(s string) bool {
	starts := func(with string) bool { return strings.HasPrefix(s, with) }
	return slices.ContainsFunc([]string{"/", ".", "~", "data:"}, starts) || strings.Contains(s, ":/") && !strings.Contains(s, "://")
}

// isPEM reports whether s is one block of PEM, such as a private key, and nothing else.
func isPEM(s string) bool {
	if !strings.HasPrefix(s, "-----BEGIN ") {
		return false
	}
	block, rest := pem.Decode([]byte(s))
	return block != nil && len(block.Headers) == 0 && strings.TrimSpace(string(rest)) == ""
}

// codeVariables are the names of such variables.
//
//go:embed code.txt
var codeVariables string

// leadsToCode reports whether programs take further code, or further programs, from
// where the variable says: with another value of it an approved command is another
// one.
func leadsToCode(name string) bool {
	name = strings.ReplaceAll(strings.ToUpper(name), "-", "_") // as npm takes it
	if strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
		return true
	}
	return slices.Contains(strings.Fields(codeVariables), name)
}
