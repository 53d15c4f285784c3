package providercheck

import "strings"

// pythonProblem tells why Python's re would not compile a regular expression that
// is one in another dialect, or why the one around it refuses: it knows no
// lookaround. Empty: it compiles.
func pythonProblem(pattern string) string {
	s := scanner{rest: pattern}
	for s.rest != "" {
		if problem := s.step(); problem != "" {
			return problem
		}
	}
	return ""
}

type scanner struct {
	rest    string
	started bool // something stands before
}

func (s *scanner) step() string {
	c := s.rest[0]
	switch {
	case c == '\\':
		_, problem := s.escape(false)
		s.started = true
		return problem
	case c == '[':
		s.started = true
		return s.class()
	case strings.HasPrefix(s.rest, "(?"):
		return s.group()
	}
	s.started = true
	s.rest = s.rest[1:]
	return ""
}

// group reads the head of a group that begins with a question mark.
func (s *scanner) group() string {
	head := s.rest[2:]
	for _, look := range []string{"=", "!", "<=", "<!"} {
		if strings.HasPrefix(head, look) {
			return "lookaround"
		}
	}
	switch {
	case strings.HasPrefix(head, ":"), strings.HasPrefix(head, ">"), strings.HasPrefix(head, "P<"),
		strings.HasPrefix(head, "P="), strings.HasPrefix(head, "#"), strings.HasPrefix(head, "("):
		s.rest, s.started = head[1:], true
		return ""
	case strings.HasPrefix(head, "<"):
		return "a named group without P"
	}
	end := strings.IndexAny(head, ":)")
	if end < 0 {
		return "an open group"
	}
	for _, flag := range strings.ReplaceAll(head[:end], "-", "") {
		if !strings.ContainsRune("aiLmsux", flag) {
			return "an unknown flag"
		}
	}
	if head[end] == ')' && s.started {
		return "flags that are not at the start"
	}
	if head[end] == ')' && strings.Contains(head[:end], "-") {
		return "flags switched off for all"
	}
	s.rest = head[end+1:]
	return ""
}

// escape reads what begins with a backslash, and tells whether it stands for a set
// of characters.
func (s *scanner) escape(inClass bool) (set bool, problem string) {
	if len(s.rest) < 2 {
		return false, "a backslash at the end"
	}
	c := s.rest[1]
	s.rest = s.rest[2:]
	hex := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if hex > 0 {
		if len(s.rest) < hex || strings.Trim(s.rest[:hex], "0123456789abcdefABCDEF") != "" {
			return false, "an incomplete escape"
		}
		s.rest = s.rest[hex:]
		return false, ""
	}
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	switch {
	case !letter:
		return false, ""
	case strings.IndexByte("dDsSwW", c) >= 0:
		return true, ""
	case strings.IndexByte("abfnrtv", c) >= 0, !inClass && strings.IndexByte("ABZ", c) >= 0:
		return false, ""
	}
	return false, `an unknown escape \` + string(c)
}

// class reads a set in brackets.
func (s *scanner) class() string {
	s.rest = strings.TrimPrefix(s.rest[1:], "^")
	first := true
	for {
		if s.rest == "" {
			return "an open set"
		}
		if s.rest[0] == ']' && !first {
			s.rest = s.rest[1:]
			return ""
		}
		first = false
		from, problem := s.char()
		if problem != "" {
			return problem
		}
		if len(s.rest) < 2 || s.rest[0] != '-' || s.rest[1] == ']' {
			continue
		}
		s.rest = s.rest[1:]
		to, problem := s.char()
		if problem != "" {
			return problem
		}
		if from || to {
			return "a range from or to a set"
		}
	}
}

func (s *scanner) char() (set bool, problem string) {
	if s.rest[0] == '\\' {
		return s.escape(true)
	}
	s.rest = s.rest[1:]
	return false, ""
}

// checkPatterns adds the regular expressions that OpenAI refuses.
func (v *violations) checkPatterns(schema *Node) {
	EachSchema("", schema, func(place string, n *Node) bool {
		if p := n.Get("pattern"); p.Is('"') {
			if problem := pythonProblem(p.Text); problem != "" {
				v.add(Member(place, "pattern"), "%q: %s", p.Text, problem)
			}
		}
		if bag := n.Get("patternProperties"); bag.Is('{') {
			for _, name := range bag.Names {
				if problem := pythonProblem(name); problem != "" {
					v.add(Member(place, "patternProperties"), "%q: %s", name, problem)
				}
			}
		}
		return true
	})
}
