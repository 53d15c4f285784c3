package config

import (
	"regexp"
	"strings"
)

// envFile reads the variables of the file that the entry names; those of "env" come
// after them and win. Values are taken as they stand: no reference is replaced.
func (e *entry) envFile(s *Server) {
	f := e.field("envFile")
	if f == nil || e.opts.AsWritten { // then it stays in Extra
		return
	}
	path := e.system(f.Value, f.At)
	if path == "" {
		return
	}
	e.references = append(e.references, "envFile: "+f.Value.Text)
	content, err := e.content(e.abs(path))
	if err == nil {
		if e.left -= len(content); e.left < 0 {
			err = errTooMuch
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
	form := regexp.MustCompile(`^(?:export\s+)?([A-Za-z_.-][\w.-]*)\s*=\s*` +
		`(?:"((?:\\.|[^"\\])*)"\s*(?:#.*)?|'([^']*)'\s*(?:#.*)?|([^"'#\s].*?)(?:\s+#.*)?|(?:#.*)?)$`)
	escapes := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`)
	for text := range strings.SplitSeq(strings.TrimPrefix(content, "\ufeff"), "\n") {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		m := form.FindStringSubmatch(text)
		switch {
		case m == nil:
			return line, "is not NAME=value, or has a quote that is not closed: values stand on one line"
		case strings.ContainsRune(text, 0):
			return line, "holds a NUL byte: remove it"
		}
		env[m[1]] = Secret(escapes.Replace(m[2]) + m[3] + m[4])
	}
	return 0, ""
}
