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
		return Problem{Path: pathAt(value, syntax.Offset), Want: "given once", Got: "twice"}
	}
	return Problem{Want: "valid JSON", Got: shorten(syntax.Error())}
}

// pathAt returns the path of the member whose name ends at an offset, up to which
// the value is valid.
func pathAt(value []byte, offset int) string {
	type container struct {
		path  string
		array bool
		next  int    // element
		name  string // of the member
		named bool
	}
	var open []container
	inner := func() *container { return &open[len(open)-1] }
	here := func() string {
		switch {
		case len(open) == 0:
			return ""
		case inner().array:
			return inner().path + "[" + strconv.Itoa(inner().next) + "]"
		}
		return Member(inner().path, inner().name)
	}
	for i := 0; i < offset; i++ {
		switch value[i] {
		case '{', '[':
			open = append(open, container{path: here(), array: value[i] == '['})
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			inner().next++
			inner().named = false
		case '"':
			start := i
			for i++; value[i] != '"'; i++ {
				if value[i] == '\\' {
					i++
				}
			}
			if len(open) > 0 && !inner().array && !inner().named {
				inner().name, _ = jsonscan.String(value[start : i+1])
				inner().named = true
			}
		}
	}
	return here()
}
