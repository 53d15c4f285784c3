package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

const (
	maxFile     = 1 << 20  // bytes of one ${file:path}
	maxLooked   = 1000     // references of a config file to files, and to inputs and the keyring
	maxExpanded = 16 << 20 // bytes of all references of a config file together
)

// A reading is one of a file, and what its references draw on.
type reading struct {
	*parser
	ctx      context.Context // of the one call that reads the file
	inputs   []Input
	warnings []*Error
	left     int // bytes that references may still yield
	looks    int // references to files, inputs and the keyring so far

	// known are the variables, files and answers that were looked up, by reference: each is
	// once. before are those of the reading before the approval, which are not changed.
	known, before map[string]resolved
}

// A resolved is what a reference stands for.
type resolved struct {
	value string
	err   error
}

func (p *parser) reading(ctx context.Context) *reading {
	return &reading{parser: p, ctx: ctx, left: maxExpanded, known: map[string]resolved{}}
}

// once returns what find returned the first time for a reference.
func (r *reading) once(reference string, find func() (string, error)) (string, error) {
	got, ok := r.before[reference]
	if !ok {
		got, ok = r.known[reference]
	}
	if !ok && r.left < 0 {
		return "", errTooMuch // what is known stays in memory
	}
	if !ok {
		got.value, got.err = find()
		r.known[reference] = got
	}
	return got.value, got.err
}

// look is once for what takes time, which is bounded.
func (r *reading) look(reference string, find func() (string, error)) (string, error) {
	if r.looks++; r.looks > maxLooked {
		return "", fmt.Errorf("the file has more than %d references to files, inputs and the keyring: use fewer", maxLooked)
	}
	return r.once(reference, find)
}

// lookup returns the value of a variable. Where values are wanted as written, all are set.
func (r *reading) lookup(name string) (string, error) {
	if r.opts.AsWritten {
		return "", nil
	}
	return r.once("${env:"+name+"}", func() (string, error) {
		value, ok := r.opts.Lookup(name)
		if !ok {
			value, ok = r.predefined(name)
		}
		if !ok {
			return "", &UnsetVariableError{name}
		}
		return value, nil
	})
}

// An expander replaces the references in one value of an entry, see the package comment.
type expander struct {
	*entry
	mayWait bool // inputs and the keyring may wait for the approval here

	literal string   // a name behind $ that looks like a variable, and stays as it is
	seen    []string // its references, as they may be shown
}

// errTooMuch is why no reference of a file is replaced any more.
var errTooMuch = fmt.Errorf("the references of this file yield more than %d bytes: use smaller values", maxExpanded)

// errDisabledAsks is why a disabled entry with such a reference cannot be started as
// it is.
var errDisabledAsks = errors.New("${input:id} and ${keyring:name} are looked up when the server is enabled: enable it and read the file again")

// expand returns s with all references replaced. Its errors tell no more of s
// than the names of variables and files.
func (x *expander) expand(s string) (string, error) {
	mark, written := byte('$'), s
	if x.write.References == dialect.CurlyRefs {
		mark = '{'
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, mark)
		if i < 0 {
			if b.WriteString(s); x.opts.AsWritten { // only the form was looked at
				return written, nil
			}
			return b.String(), nil
		}
		b.WriteString(s[:i])
		before := byte(0)
		if i > 0 {
			before = s[i-1]
		}
		s = s[i:]
		length, value, err := x.reference(s, before)
		if length > 0 && !x.opts.AsWritten {
			x.seen = append(x.seen, asWritten(s[:length]))
		}
		if err != nil {
			return "", err
		}
		if length > 0 && !x.opts.AsWritten && standsForSecret(s[:length], value) {
			x.secrets = append(x.secrets, value)
		}
		if length == 0 { // not a reference
			length = 1
			if strings.HasPrefix(s, "$$") {
				length = 2
			}
			value = s[:length]
		} else if x.left -= len(value); x.left < 0 {
			return "", errTooMuch
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
	case x.write.References == dialect.CurlyRefs:
		return x.curly(s)
	case strings.HasPrefix(s, "${{"):
		return x.secret(s)
	case !strings.HasPrefix(s, "${"):
		length = 1 + dialect.NameLength(s[1:])
		if length == 1 || x.dialect.Literal {
			if length > 1 && !x.opts.AsWritten && standsAlone(s[1:length], s[length:], before) {
				x.literal = s[1:length]
			}
			return 0, "", nil
		}
		if value, err = x.lookup(s[1:length]); err != nil {
			err = unsetBare(s[1:length], s[length:], before)
		}
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
	value, err = x.braced(inner)
	return end + 1, value, err
}

// refers reports whether a text may have references.
func (e *entry) refers(text string) bool {
	if e.write.References == dialect.CurlyRefs {
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
	if length = len(kind) + len(name) + len("{:}"); kind == "env" {
		value, _ = x.lookup(name)
		return length, value, nil
	}
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := x.lookup("userHome"); err == nil {
			name = filepath.Join(home, below)
		}
	}
	value, err = x.file(name)
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
	value, err = x.braced(name)
	if errors.As(err, new(*UnsetVariableError)) {
		value, err = x.braced("keyring:" + name)
	}
	return len(inner) + len("${{}}"), value, err
}

// asksUser reports whether a reference is one to an input or the keyring.
func asksUser(reference string) bool {
	return strings.HasPrefix(reference, "${input:") || strings.HasPrefix(reference, "${keyring:")
}

// asWritten returns a reference as it may be shown: without its default.
func asWritten(reference string) string {
	name, _, ok := strings.Cut(reference, ":-")
	if !ok || asksUser(reference) || strings.HasPrefix(reference, "${file:") {
		return reference
	}
	return name + "}"
}

// braced returns the value of ${inner}.
func (x *expander) braced(inner string) (string, error) {
	kind, rest, prefixed := strings.Cut(inner, ":")
	switch {
	case prefixed && kind == "file":
		return x.file(rest)
	case prefixed && (kind == "input" || kind == "keyring"):
		return x.ask(kind, rest)
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
	value, err := x.lookup(name)
	if err != nil && hasFallback {
		return fallback, nil
	}
	return value, err
}

// ask returns the answer to an input, or a secret of the keyring: the reference itself if
// that has to wait.
func (x *expander) ask(kind, name string) (string, error) {
	find := x.input
	if kind == "keyring" {
		find = x.keyring
	}
	switch {
	case x.opts.AsWritten:
		return "", nil
	case x.later && !x.mayWait:
		return "", errAskedEarly
	case x.off && !x.later && x.before == nil:
		return "", errDisabledAsks
	}
	answer, err := find(name)
	reference := "${" + kind + ":" + name + "}"
	switch {
	case err != nil:
		return "", err
	case x.later:
		x.waits = true
		return reference, nil
	}
	return x.look(reference, answer)
}

// unsetBare is the error for $name without braces. In a password the part
// after a dollar looks the same, so the name is told only if it is in capitals
// and stands alone.
func unsetBare(name, after string, before byte) error {
	if !standsAlone(name, after, before) {
		return errors.New("a $VAR names a variable that is not set: set it or write ${VAR:-default}; a literal $ before a letter is written as ${DOLLAR:-$}")
	}
	return &UnsetVariableError{name}
}

// standsAlone reports whether $name is unlikely to be a part of a password.
func standsAlone(name, after string, before byte) bool {
	return strings.ToUpper(name) == name && len(name) <= dialect.MaxVariable &&
		(before == 0 || strings.IndexByte(" :=/,;@", before) >= 0) &&
		(after == "" || strings.IndexByte(" :=/,;@.-", after[0]) >= 0)
}

// file returns the content of the file at path without one line break at its
// end.
func (x *expander) file(path string) (string, error) {
	if x.opts.AsWritten {
		return "", nil
	}
	if path == "" || len(path) > dialect.MaxPath {
		return "", fmt.Errorf("${file:path} has no path or one longer than %d bytes", dialect.MaxPath)
	}
	content, err := x.content(x.abs(path))
	if err != nil {
		return "", fmt.Errorf("cannot read the file %q of ${file:path}: %w", path, err)
	}
	content, cut := strings.CutSuffix(content, "\n")
	if cut {
		content = strings.TrimSuffix(content, "\r")
	}
	return content, nil
}

// content reads a file that the config file names. One of another machine is not asked
// for it before the approval: Windows would log in there.
func (e *entry) content(full string) (string, error) {
	if (e.later || e.before != nil) && elsewhere(runtime.GOOS, full) {
		return "", errors.New("a file of a project cannot name a file of another machine: copy it to this one")
	}
	return e.look("${file:"+full+"}", func() (string, error) {
		if e.opts.File != nil {
			if err := e.opts.File(full); err != nil {
				return "", err
			}
		}
		content, err := read(full, true, maxFile)
		if err == nil && len(content) > maxFile {
			err = fmt.Errorf("it has more than %d bytes", maxFile)
		}
		return string(content), err
	})
}

// elsewhere reports whether a path leads to another machine, or to a device.
func elsewhere(goos, path string) bool {
	return goos == "windows" && strings.HasPrefix(strings.ReplaceAll(path, "/", `\`), `\\`)
}
