package rest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A pathTemplate is the path of an endpoint: the parts of each of its segments, by turns literal
// text, escaped, and the name of a parameter. A trailing slash is a last segment without text.
type pathTemplate [][]string

var (
	pathName    = regexp.MustCompile(`\{([^}]+)\}`)
	pathSegment = regexp.MustCompile(`/((?:[^/{]|\{[^}]+\})*)`)
)

// readPath reads the path of an endpoint.
func readPath(path string) (pathTemplate, error) {
	switch {
	case path == "":
		return nil, nil
	case len(path) > maxPath:
		return nil, fmt.Errorf("is longer than %d bytes", maxPath)
	case path[0] != '/':
		return nil, errors.New(`does not begin with "/"`)
	case strings.Contains(pathName.ReplaceAllString(path, ""), "{"):
		return nil, errors.New(`has a "{" that begins no {name}`)
	}
	var template pathTemplate
	segments := pathSegment.FindAllStringSubmatch(path, -1)
	for i, match := range segments {
		names := pathName.FindAllStringSubmatch(match[1], -1)
		var parts []string
		for i, literal := range pathName.Split(match[1], -1) {
			if err := checkLiteral(literal); err != nil {
				return nil, err
			}
			if parts = append(parts, literal); i < len(names) {
				parts = append(parts, names[i][1])
			}
		}
		switch {
		case match[1] == "" && i < len(segments)-1:
			return nil, errors.New("has an empty segment")
		case names == nil && leaves(match[1]):
			return nil, errors.New("has a segment that leads out of it")
		}
		template = append(template, parts)
	}
	return template, nil
}

// literal matches what a path may have (RFC 3986, section 3.3).
var literal = regexp.MustCompile(`^(?:[0-9A-Za-z._~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2})*`)

// checkLiteral holds text to the characters of a path.
func checkLiteral(text string) error {
	rest := text[len(literal.FindString(text)):]
	switch {
	case rest == "":
		return nil
	case rest[0] == '%':
		return errors.New(`has a "%" that begins no escape such as %20`)
	case rest[0] == '?' || rest[0] == '#':
		return fmt.Errorf("has a %q; a query is made of params", rest[0])
	}
	return errors.New("has characters that no path has; write them as escapes such as %20")
}

// names returns the names of the parameters in the template.
func (t pathTemplate) names() []string {
	var names []string
	for _, parts := range t {
		for i := 1; i < len(parts); i += 2 {
			names = append(names, parts[i])
		}
	}
	return names
}

// expand returns the path with the values, which are escaped. At is the name of a
// parameter in a segment that would lead out of its place; it is empty if there is
// none.
func (t pathTemplate) expand(values map[string]string) (path, at string) {
	var text strings.Builder
	for _, parts := range t {
		text.WriteByte('/')
		start := text.Len()
		for i, part := range parts {
			if i%2 == 1 {
				part = values[part]
			}
			text.WriteString(part)
		}
		if written := text.String()[start:]; len(parts) > 1 && (written == "" || leaves(written)) {
			return "", parts[len(parts)-2]
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

var percentEscape = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// decode undoes the escapes in text. A percent sign that begins none stays.
func decode(text string) string {
	return percentEscape.ReplaceAllStringFunc(text, func(escape string) string {
		c, _ := strconv.ParseUint(escape[1:], 16, 8)
		return string([]byte{byte(c)})
	})
}

// ambiguous reports whether an escaped value has a character that some servers take
// for a separator, or decode twice.
func ambiguous(escaped string) bool {
	signs := []string{"%2F", "%5C", "%25", "%3B", "%3F", "%23"}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(escaped, sign) })
}
