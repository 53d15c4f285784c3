package providercheck

import (
	"regexp"
	"slices"
	"strings"
)

// Marks that stand for escapes in a pattern.
const (
	setMark    = "\ue000" // of a set of characters
	anchorMark = "\ue001"
)

var (
	escapes = regexp.MustCompile(`(?s)\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[abfnrtvdDsSwWABZ]|[^a-zA-Z])`)
	classes = regexp.MustCompile(`(?s)\[\^?.[^\]]*\]`) // a bracket that comes first is a character
	ranges  = regexp.MustCompile(`(?s)` + setMark + `-[^\]]|[^\[]-` + setMark)
	groups  = regexp.MustCompile(`\(\?([^:)]*)([:)]?)`)
)

// pythonProblem tells why Python's re would not compile a regular expression that
// is one in another dialect, or why the one around it refuses: it knows no
// lookaround. Empty: it compiles.
func pythonProblem(pattern string) string {
	text := escapes.ReplaceAllStringFunc(pattern, func(escape string) string {
		switch {
		case strings.Contains("dDsSwW", escape[1:]):
			return setMark
		case strings.Contains("ABZ", escape[1:]):
			return anchorMark
		}
		return "e"
	})
	if strings.Contains(text, `\`) {
		return "an unknown or incomplete escape"
	}
	for _, class := range classes.FindAllString(text, -1) {
		if strings.Contains(class, anchorMark) {
			return "an anchor in a set"
		}
		if ranges.MatchString(class) {
			return "a range from or to a set"
		}
	}
	text = classes.ReplaceAllString(text, "c")
	if strings.Contains(text, "[") {
		return "an open set"
	}
	for _, at := range groups.FindAllStringSubmatchIndex(text, -1) {
		head, end := text[at[2]:at[3]], text[at[4]:at[5]]
		if problem := groupProblem(head, end, at[0] == 0); problem != "" {
			return problem
		}
	}
	return ""
}

// groupProblem is pythonProblem for what stands behind the question mark of a group, and for what
// ends it. First says that nothing stands before.
func groupProblem(head, end string, first bool) string {
	begins := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(head, p) })
	}
	switch {
	case begins("=", "!", "<=", "<!"):
		return "lookaround"
	case begins("<"):
		return "a named group without P"
	case begins(">", "P<", "P=", "#", "("), head+end == ":":
		return ""
	case end == "":
		return "an open group"
	case strings.Trim(head, "aiLmsux-") != "":
		return "an unknown flag"
	case end == ")" && !first:
		return "flags that are not at the start"
	case end == ")" && strings.Contains(head, "-"):
		return "flags switched off for all"
	}
	return ""
}

// checkPatterns adds the regular expressions that OpenAI refuses.
func (v *violations) checkPatterns(schema *Node) {
	EachSchema("", schema, func(place string, n *Node) bool {
		patterns := n.Get("patternProperties").Keys()
		if p := n.Get("pattern"); p.Is('"') {
			patterns = append([]string{p.Text}, patterns...)
		}
		for _, p := range patterns {
			if problem := pythonProblem(p); problem != "" {
				v.add(place, "the pattern %q: %s", p, problem)
			}
		}
		return true
	})
}
