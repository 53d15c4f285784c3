package textguard

import (
	"slices"
	"strings"
	"sync"
)

// A class is a set of words that can stand for each other in a phrase. A word may
// be of several.
type class uint64

const (
	keyFile class = 1 << iota
	envFile
	address
	goods
)

// lexicon names the classes, and has their words; a word can be of several. The first are
// those above, which other things than words can be of.
var lexicon = []struct{ name, words string }{
	{"keyFile", ""},
	{"envFile", ""},
	{"address", ""},
	{"goods", "everything copy all every also always credentials secrets passwords tokens keys history conversation chat dialog dialogue transcript"}, // what is worth stealing, and words that widen
	{"ignore", "ignore disregard forget bypass discard"},
	{"former", "earlier preceding former prior previous"},
	{"above", "above"},
	{"article", "the this a an its"},
	{"own", "your safety system"}, // your, system, safety
	{"orders", "instruction instructions directive directives guideline guidelines guardrails restrictions prompt prompts rules policies"},
	{"totality", "everything anything"},
	{"never", "not dont never mustnt shouldnt"},
	{"without", "without"},
	{"tell", "tell telling inform informing mention mentioning reveal revealing notify notifying alert alerting disclose disclosing"},
	{"person", "user human operator"},
	{"toward", "to"}, // what follows "the user" in an order to them
	{"handOver", "content contents include attach append pass insert paste upload send forward transmit copy put add provide supply fill submit record"},
	{"readOut", "read reading cat dump exfiltrate steal content contents include attach append pass insert paste upload send forward transmit copy"},
	{"send", "upload send forward transmit copy bcc cc post redirect leak deliver email mail"},
	{"talk", "history conversation chat dialog dialogue transcript"},
	{"entire", "prior previous all full entire whole complete verbatim"},
	{"modal", "must should"},
	{"notice", "know see notice aware learn told"},
	{"hide", "hide keep conceal"},
	{"from", "from"},
	{"furtively", "secretly silently covertly discreetly quietly"},
	{"use", "use call invoke run trust"},
	{"other", "other another"},
	{"tool", "tool tools"},
	{"instead", "instead rather"},
	{"than", "of than"},
	{"before", "prior before"},
	{"every", "all every any each"},
	{"first", "first"},
	{"always", "always must"},
	{"already", "already"},
	{"consent", "consented approved authorized authorised agreed granted"},
	{"ask", "ask asking seek seeking"},
	{"permission", "permission confirmation approval consent"},
	{"you", "you"},
	{"are", "are"},
	{"now", "now"},
	{"whenever", "when whenever if once"},
	{"used", "invoked called used executed"},
	{"swap", "change replace alter substitute"},
	{"receiver", "recipient recipients destination receiver payee"},
	{"system", "system"},
	{"prompt", "prompt prompts"},
	{"override", "override overrule"},
	{"bcc", "bcc cc"},
	{"ever", "ever circumstances circumstance event"},
}

// classNamed returns a class of the lexicon, or several with | between them; 0 for a name
// that is none.
func classNamed(names string) (all class) {
	for name := range strings.SplitSeq(names, "|") {
		if i := slices.IndexFunc(lexicon, func(row struct{ name, words string }) bool { return row.name == name }); i >= 0 {
			all |= 1 << i
		}
	}
	return all
}

// classify returns the classes of a word. prev is the word before.
func classify(w, prev *word) class {
	if w.size > maxWord {
		return 0
	}
	if c := classOfPath(w, prev); c != 0 {
		return c
	}
	return classOf(w.text())
}

// classOfPath knows the words that only mean something as part of a path.
func classOfPath(w, prev *word) class {
	switch string(w.letters[:w.size]) {
	case "ssh", "aws", "gnupg", "kube", "netrc", "pgpass", "npmrc", "pypirc":
		if w.before == '.' {
			return keyFile
		}
	case "rsa", "ed25519", "ecdsa", "dsa":
		if prev.text() == "id" && (w.before == '_' || w.before == 'd') {
			return keyFile
		}
	case "passwd", "shadow", "sudoers":
		if prev.text() == "etc" && w.before == '/' {
			return keyFile
		}
	case "json":
		if prev.text() == "mcp" && w.before == '.' {
			return keyFile
		}
	case "config":
		if prev.text() == "desktop" && w.before == '_' { // claude_desktop_config.json
			return keyFile
		}
	case "credentials":
		if prev.text() == "git" && w.before == '-' {
			return keyFile | goods
		}
	case "env":
		if w.before == '.' {
			return envFile
		}
	}
	return 0
}

func classOf(text string) class { return classes()[text] }

// classes are the classes of words.
var classes = sync.OnceValue(func() map[string]class {
	known := map[string]class{}
	for i, row := range lexicon {
		for word := range strings.FieldsSeq(row.words) {
			known[word] |= 1 << i
		}
	}
	return known
})
