package providercheck

import (
	"regexp"
	"strings"
)

var (
	// pythonOnly is what Python's re knows and Go does not, or not as much of it.
	pythonOnly = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|Z|[1-9])|\[\\b\]|\(\?P=\w+\)|\(\?#[^)]*\)|\{[0-9,]+\}`)
	// goOnly is what Go knows and Python does not.
	goOnly = regexp.MustCompile(`(?s)\\[pPQECz]|\\x\{|\(\?<\w|\(\?[a-zA-Z]*U|.\(\?[a-zA-Z-]+\)|\(\?[a-z]*-[a-z]*\)|\[[^\]]*\\[dDsSwW]-[^\]]`)
)

// pythonProblem tells why Python's re would not compile a regular expression that
// is one in another dialect, or why the one around it refuses: it knows no
// lookaround. Empty: it compiles.
func pythonProblem(pattern string) string {
	text := strings.ReplaceAll(pattern, `\\`, "e")
	if found := goOnly.FindString(text); found != "" {
		return found + " is not known"
	}
	text = pythonOnly.ReplaceAllString(strings.ReplaceAll(text, "(?>", "(?:"), "e")
	if _, err := regexp.Compile(text); err != nil {
		return "lookaround, or no regular expression: " + err.Error()
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
