package schemagate

import (
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// place returns how a place in a value is written, and what is there.
func place(value any, at []string) (path string, there any) {
	for _, token := range at {
		switch container := value.(type) {
		case []any:
			path += "[" + token + "]"
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(container) {
				value = container[i]
			}
		case map[string]any:
			path = Member(path, token)
			value = container[token]
		}
	}
	return path, value
}

// Member returns how the place of a member of the object at path is written.
func Member(path, name string) string {
	if len(path) > 2*maxText {
		return path // long enough to be found
	}
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-$@", r)
	})
	switch {
	case !plain:
		return path + "['" + shorten(name) + "']"
	case path == "":
		return shorten(name)
	}
	return path + "." + shorten(name)
}

// unreadable words why JSON is refused that others might accept.
func unreadable(value []byte, err error) Problem {
	var syntax *jsonscan.SyntaxError
	if !errors.As(err, &syntax) {
		return Problem{Want: "JSON", Got: "something else"}
	}
	if syntax.Reason == "duplicate key" {
		for start := syntax.Offset - 1; start >= 0; start-- { // the name ends at the offset
			if name, ok := jsonscan.String(value[start:syntax.Offset]); ok {
				return Problem{Path: Member("", name), Want: "given once", Got: "twice"}
			}
		}
	}
	return Problem{Want: "valid JSON", Got: shorten(syntax.Error())}
}
