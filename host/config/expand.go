package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

const (
	maxFile     = 1 << 20  // bytes of one ${file:path}
	maxLooked   = 1000     // references of a config file to files, and to inputs and the keyring
	maxExpanded = 16 << 20 // bytes of all references of a config file together
)

// lookups is what the references of a file draw on.
type lookups struct {
	lookup func(string) (string, bool)
	dir    string                  // where a relative ${file:path} starts
	allows func(path string) error // why a file must not be read; nil: all may
	left   int                     // bytes that references may still yield
	files  int                     // that were read
	asker  *asker                  // of inputs and the keyring

	literal bool               // $VAR without braces is no reference
	forms   dialect.References // that the file's program knows: CurlyRefs take the place of ours
	written bool               // values are wanted as written: nothing is looked up
}

// An expander replaces the references in the values of one entry, see the package comment.
type expander struct {
	*lookups
	off      bool // the entry is disabled: no user is asked for it
	formOnly bool // only the form of references is looked at

	// later says that inputs and the keyring wait for the approval; mayWait that they
	// can, in the value at hand.
	later, mayWait bool
	// known are the references that were looked up for this entry already, by their
	// text. Nil: they are looked up each time.
	known map[string]resolved

	seen    map[string]bool // references of the value at hand, as they may be shown
	secrets []string        // what those of them stand for that are references to secrets
	waits   bool            // the entry has one that waits
}

// errDisabledAsks is why a disabled entry with such a reference cannot be started as
// it is.
var errDisabledAsks = errors.New("${input:id} and ${keyring:name} are looked up when the server is enabled: enable it and read the file again")

// expand returns s with all references replaced. Its errors tell no more of s
// than the names of variables and files.
func (x *expander) expand(s string) (string, error) {
	if x.written {
		form := &lookups{lookup: func(string) (string, bool) { return "", true }, left: maxExpanded, literal: x.literal, forms: x.forms}
		_, err := (&expander{lookups: form, formOnly: true}).expand(s)
		return s, err
	}
	mark := byte('$')
	if x.forms == dialect.CurlyRefs {
		mark = '{'
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, mark)
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		before := byte(0)
		if i > 0 {
			before = s[i-1]
		}
		s = s[i:]
		length, value, err := x.reference(s, before)
		if length > 0 {
			if x.seen == nil {
				x.seen = make(map[string]bool)
			}
			x.seen[asWritten(s[:length])] = true
		}
		if err != nil {
			return "", err
		}
		if length > 0 && standsForSecret(s[:length], value) {
			x.secrets = append(x.secrets, value)
		}
		if length == 0 { // not a reference
			length = 1
			if strings.HasPrefix(s, "$$") {
				length = 2
			}
			value = s[:length]
		} else if x.left -= len(value); x.left < 0 {
			return "", fmt.Errorf("the references of this file yield more than %d bytes: use smaller values", maxExpanded)
		}
		b.WriteString(value)
		s = s[length:]
	}
}

// reference reads the reference at the start of s, which begins with '$' or '{', and
// returns its length in s and what it stands for. The length is 0 if s does not
// begin with a reference. The byte before s is 0 at the start of the value.
func (x *expander) reference(s string, before byte) (length int, value string, err error) {
	switch {
	case x.forms == dialect.CurlyRefs:
		return x.curly(s)
	case strings.HasPrefix(s, "${{"):
		return x.secret(s)
	case !strings.HasPrefix(s, "${"):
		length = 1 + dialect.NameLength(s[1:])
		if length == 1 || x.literal {
			return 0, "", nil
		}
		value, err := x.once(s[:length], func() (string, error) {
			if value, ok := x.lookup(s[1:length]); ok {
				return value, nil
			}
			return "", unsetBare(s[1:length], s[length:], before)
		})
		return length, value, err
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return 0, "", errors.New("a ${ is not closed: add }")
	}
	inner := s[2:end]
	if strings.Contains(inner, "${") {
		return 0, "", errors.New("a ${ inside of ${} is not supported: set one variable to the whole value")
	}
	value, err = x.once(s[:end+1], func() (string, error) { return x.braced(inner) })
	return end + 1, value, err
}

// once returns what find returned the first time for that reference of an entry that
// is read again after its approval. Values that wait for that are not kept.
func (x *expander) once(reference string, find func() (string, error)) (string, error) {
	if got, ok := x.known[reference]; ok {
		return got.value, got.err
	}
	value, err := find()
	if x.known != nil && !asksSomebody(reference) {
		x.known[reference] = resolved{value, err}
	}
	return value, err
}

// refers reports whether a text may have references.
func (x *expander) refers(text string) bool {
	if x.forms == dialect.CurlyRefs {
		return strings.Contains(text, "{env:") || strings.Contains(text, "{file:")
	}
	return strings.Contains(text, "$")
}

// curly reads a reference {env:VAR} or {file:path}. A variable that is not set is empty.
func (x *expander) curly(s string) (length int, value string, err error) {
	kind, rest, _ := strings.Cut(s[1:], ":")
	name, _, closed := strings.Cut(rest, "}")
	if !closed || kind != "env" && kind != "file" || name == "" {
		return 0, "", nil
	}
	length = len(kind) + len(name) + len("{:}")
	value, err = x.once(s[:length], func() (string, error) {
		if kind == "env" {
			value, _ := x.lookup(name)
			return value, nil
		}
		if x.formOnly {
			return "", nil
		}
		if below, ok := strings.CutPrefix(name, "~/"); ok {
			if home, ok := x.lookup("userHome"); ok {
				name = filepath.Join(home, below)
			}
		}
		return x.file(name)
	})
	return length, value, err
}

// secret reads a reference ${{ secrets.VAR }} of Continue: a variable, or else a secret of
// that name.
func (x *expander) secret(s string) (length int, value string, err error) {
	inner, _, closed := strings.Cut(s[len("${{"):], "}}")
	if !closed {
		return 0, "", errors.New("a ${{ is not closed: add }}")
	}
	name, known := strings.CutPrefix(strings.TrimSpace(inner), "secrets.")
	if !known || name == "" || dialect.NameLength(name) < len(name) || len(name) > dialect.MaxVariable {
		return 0, "", errors.New("unknown reference ${{…}}: write ${{ secrets.NAME }}")
	}
	value, err = x.once("${"+name+"}", func() (string, error) { return x.braced(name) })
	var unset *UnsetVariableError
	if errors.As(err, &unset) {
		value, err = x.braced("keyring:" + name)
	}
	return len(inner) + len("${{}}"), value, err
}

// asksSomebody reports whether a reference is one to an input or the keyring.
func asksSomebody(reference string) bool {
	return strings.HasPrefix(reference, "${input:") || strings.HasPrefix(reference, "${keyring:")
}

// asWritten returns a reference as it may be shown: without its default.
func asWritten(reference string) string {
	name, _, ok := strings.Cut(reference, ":-")
	if !ok || asksSomebody(reference) || strings.HasPrefix(reference, "${file:") {
		return reference
	}
	return name + ":-" + mask.Stars + "}"
}

// braced returns the value of ${inner}.
func (x *expander) braced(inner string) (string, error) {
	kind, rest, prefixed := strings.Cut(inner, ":")
	asks := prefixed && (kind == "input" || kind == "keyring")
	switch {
	case x.formOnly && (asks || prefixed && kind == "file"):
		return "", nil
	case prefixed && kind == "file":
		return x.file(rest)
	case asks && x.later && !x.mayWait:
		return "", errAskedEarly
	case asks && x.off && x.known == nil:
		return "", errDisabledAsks
	case asks && kind == "input":
		return x.asked(inner, x.asker.input, rest)
	case asks:
		return x.asked(inner, x.asker.keyring, rest)
	case prefixed && kind == "env":
		inner = rest
	case inner == "/":
		return string(os.PathSeparator), nil
	}
	name := inner[:dialect.NameLength(inner)]
	fallback, hasFallback := strings.CutPrefix(inner[len(name):], ":-")
	if name == "" || len(name) > dialect.MaxVariable || !hasFallback && len(name) < len(inner) {
		return "", errors.New("unknown reference ${…}: write ${VAR}, ${VAR:-default}, ${env:VAR}, ${file:path}, ${input:id} or ${keyring:name}; a literal ${ is written as ${DOLLAR:-$}{")
	}
	if value, ok := x.lookup(name); ok {
		return value, nil
	}
	if hasFallback {
		return fallback, nil
	}
	return "", &UnsetVariableError{name}
}

// asked returns the answer to ${inner}, or the reference itself if it has to wait.
func (x *expander) asked(inner string, answer func(name string, later bool) (string, error), name string) (string, error) {
	value, err := answer(name, x.later)
	if err == nil && x.later {
		x.waits = true
		return "${" + inner + "}", nil
	}
	return value, err
}

// unsetBare is the error for $name without braces. In a password the part
// after a dollar looks the same, so the name is told only if it is in capitals
// and stands alone.
func unsetBare(name, after string, before byte) error {
	alone := strings.ToUpper(name) == name && len(name) <= dialect.MaxVariable &&
		(before == 0 || strings.IndexByte(" :=/,;@", before) >= 0) &&
		(after == "" || strings.IndexByte(" :=/,;@.-", after[0]) >= 0)
	if !alone {
		return errors.New("a $VAR names a variable that is not set: set it or write ${VAR:-default}; a literal $ before a letter is written as ${DOLLAR:-$}")
	}
	return &UnsetVariableError{name}
}

// file returns the content of the file at path without one line break at its
// end.
func (x *expander) file(path string) (string, error) {
	if path == "" || len(path) > dialect.MaxPath {
		return "", fmt.Errorf("${file:path} has no path or one longer than %d bytes", dialect.MaxPath)
	}
	if x.files++; x.files > maxLooked {
		return "", fmt.Errorf("the file has more than %d references ${file:path}: use fewer", maxLooked)
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(x.dir, full)
	}
	content, err := x.read(full)
	if err != nil {
		return "", fmt.Errorf("cannot read the file %q of ${file:path}: %w", path, err)
	}
	content, cut := strings.CutSuffix(content, "\n")
	if cut {
		content = strings.TrimSuffix(content, "\r")
	}
	return content, nil
}

// read reads a file that the config file names. One of another machine is not asked
// for it before the approval: Windows would log in there.
func (x *expander) read(full string) (string, error) {
	if x.later && elsewhere(runtime.GOOS, full) {
		return "", errors.New("a file of a project cannot name a file of another machine: copy it to this one")
	}
	if x.allows != nil {
		if err := x.allows(full); err != nil {
			return "", err
		}
	}
	content, err := read(full, true, maxFile)
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return string(content), err
}

// elsewhere reports whether a path leads to another machine, or to a device.
func elsewhere(goos, path string) bool {
	return goos == "windows" && strings.HasPrefix(strings.ReplaceAll(path, "/", `\`), `\\`)
}
