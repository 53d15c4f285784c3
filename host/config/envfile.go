package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// envFile reads the variables of the file that the entry names; those of "env" come
// after them and win. Values are taken as they stand: no reference is replaced.
func (e *entry) envFile(s *Server) {
	f := e.field("envFile")
	if f == nil || e.expand.written { // what the file holds is not written here
		return
	}
	if s.Transport != "" && s.Transport != TransportStdio {
		if f.Value.Kind != jsonc.String || f.Value.Text != "" {
			e.warn(f.Offset, f.At, "has no effect on a remote server")
		}
		return
	}
	path, ok := e.system(f.Value, f.At)
	if !ok || path == "" {
		return
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(e.dir, full)
	}
	e.references = append(e.references, "envFile: "+f.Value.Text)
	content, err := e.expand.once("envFile "+full, func() (string, error) { return e.expand.read(full) })
	if err == nil {
		if e.expand.left -= len(content); e.expand.left < 0 {
			err = fmt.Errorf("the references of this file yield more than %d bytes", maxExpanded)
		}
	}
	if err != nil {
		e.fail(f.Value.Offset, f.At, "cannot read the file of variables: %w", err)
		return
	}
	s.Env = make(map[string]Secret)
	if line, why := parseEnv(content, s.Env); why != "" {
		e.fail(f.Value.Offset, f.At, "line %d of the file of variables %s", line, why)
	}
}

// parseEnv reads lines NAME=value, with # for comments, "export" before the name and
// quotes around the value: in double ones \n, \r, \t, \" and \\ are escapes. It returns
// the number of the first bad line and what is wrong with it.
func parseEnv(content string, env map[string]Secret) (line int, why string) {
	content = strings.TrimPrefix(content, "\ufeff")
	for text := range strings.SplitSeq(content, "\n") {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(text, "export "); ok {
			text = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || dialect.NameLength(strings.ReplaceAll(strings.ReplaceAll(name, ".", "_"), "-", "_")) != len(name) {
			return line, "is not NAME=value"
		}
		value, ok = envValue(strings.TrimSpace(value))
		switch {
		case !ok:
			return line, "has a quote that is not closed: values stand on one line"
		case strings.ContainsRune(value, 0):
			return line, "holds a NUL byte: remove it"
		}
		env[name] = Secret(value)
	}
	return 0, ""
}

// envValue takes the quotes or the comment off a value.
func envValue(text string) (string, bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		for i := range len(text) {
			if text[i] == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t') {
				return strings.TrimSpace(text[:i]), true
			}
		}
		return text, true
	}
	end := 1
	for ; end < len(text) && text[end] != text[0]; end++ {
		if text[end] == '\\' && text[0] == '"' {
			end++
		}
	}
	if end >= len(text) {
		return "", false
	}
	value, rest := text[1:end], strings.TrimSpace(text[end+1:])
	if text[0] == '"' {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(value)
	}
	return value, rest == "" || rest[0] == '#'
}
