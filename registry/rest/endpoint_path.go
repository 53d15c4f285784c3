package rest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A pathTemplate is the path of an endpoint: the parts of each of its segments. A
// trailing slash is a last segment without parts.
type pathTemplate [][]pathPart

// A pathPart is literal text, escaped, or the place of a parameter.
type pathPart struct {
	literal string
	name    string // of the parameter; empty: there is none
}

// readPath reads the path of an endpoint.
func readPath(path string) (pathTemplate, error) {
	if path == "" {
		return nil, nil
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("is longer than %d bytes", maxPath)
	}
	if path[0] != '/' {
		return nil, errors.New(`does not begin with "/"`)
	}
	template := pathTemplate{nil}
	segment := &template[0]
	for rest := path[1:]; rest != ""; {
		if rest[0] == '/' {
			template = append(template, nil)
			segment = &template[len(template)-1]
			rest = rest[1:]
			continue
		}
		if rest[0] == '{' {
			name, after, ok := strings.Cut(rest[1:], "}")
			if !ok || name == "" {
				return nil, errors.New(`has a "{" that begins no {name}`)
			}
			*segment = append(*segment, pathPart{name: name})
			rest = after
			continue
		}
		end := strings.IndexAny(rest, "/{")
		if end < 0 {
			end = len(rest)
		}
		literal := rest[:end]
		if err := checkLiteral(literal); err != nil {
			return nil, err
		}
		*segment = append(*segment, pathPart{literal: literal})
		rest = rest[end:]
	}
	for i, segment := range template {
		switch {
		case len(segment) == 0 && i < len(template)-1:
			return nil, errors.New("has an empty segment")
		case len(segment) == 1 && segment[0].name == "" && leaves(segment[0].literal):
			return nil, errors.New("has a segment that leads out of it")
		}
	}
	return template, nil
}

// checkLiteral holds text to the characters of a path (RFC 3986, section 3.3).
func checkLiteral(text string) error {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			if _, length := percentEscape([]byte(text[i:])); length == 0 {
				return errors.New(`has a "%" that begins no escape such as %20`)
			}
			i += 2
		case c == '?' || c == '#':
			return fmt.Errorf("has a %q; a query is made of params", c)
		case !unreserved(c) && strings.IndexByte("!$&'()*+,;=:@", c) < 0:
			return errors.New("has characters that no path has; write them as escapes such as %20")
		}
	}
	return nil
}

// names returns the names of the parameters in the template.
func (t pathTemplate) names() []string {
	var names []string
	for _, segment := range t {
		for _, part := range segment {
			if part.name != "" {
				names = append(names, part.name)
			}
		}
	}
	return names
}

// expand returns the path with the values, which are escaped. At is the name of a
// parameter in a segment that would lead out of its place; it is empty if there is
// none.
func (t pathTemplate) expand(values map[string]string) (path, at string) {
	var text strings.Builder
	for _, segment := range t {
		text.WriteByte('/')
		start, name := text.Len(), ""
		for _, part := range segment {
			if part.name == "" {
				text.WriteString(part.literal)
			} else {
				name = part.name
				text.WriteString(values[name])
			}
		}
		if written := text.String()[start:]; name != "" && (written == "" || leaves(written)) {
			return "", name
		}
	}
	return text.String(), ""
}

// maxDecoding is how often a segment is decoded in search of a way out. Servers do it
// once, and proxies before them once more at times.
const maxDecoding = 4

// leaves reports whether a segment, however often a server may decode it and
// whatever it takes for a separator, has a part of dots, which stands for another
// segment.
func leaves(segment string) bool {
	for round := 0; ; round++ {
		for piece := range strings.FieldsFuncSeq(folded(segment), func(r rune) bool { return r == '/' || r == '\\' }) {
			// Servers of Java end a segment there, those of C, and proxies that put
			// what they have decoded into another URL.
			if end := strings.IndexAny(piece, ";\x00?#"); end >= 0 {
				piece = piece[:end]
			}
			piece = strings.TrimSpace(piece)
			if piece != "" && strings.Trim(piece, ".") == "" {
				return true
			}
		}
		decoded := decode(segment)
		if decoded == segment || round == maxDecoding {
			return decoded != segment // never intended
		}
		segment = decoded
	}
}

// folded returns text with the dots and slashes in it that become such when a server
// normalizes Unicode (UAX #15, NFKC) or reads UTF-8 that is longer than it may be.
func folded(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return text
	}
	return strings.NewReplacer(
		"\u2024", ".", "\u2025", "..", "\u2026", "...", "\ufe52", ".", "\uff0e", ".", "\xc0\xae", ".",
		"\uff0f", "/", "\xc0\xaf", "/", "\ufe68", `\`, "\uff3c", `\`,
	).Replace(text)
}

// decode undoes the escapes in text. A percent sign that begins none stays.
func decode(text string) string {
	if plain, _ := percentEncoded().read([]byte(text), false); plain != nil {
		return string(plain)
	}
	return text
}

// ambiguous reports whether an escaped value has a character that some servers take
// for a separator, or decode twice.
func ambiguous(escaped string) bool {
	for _, sign := range []string{"%2F", "%5C", "%25", "%3B", "%3F", "%23"} {
		if strings.Contains(escaped, sign) {
			return true
		}
	}
	return false
}
