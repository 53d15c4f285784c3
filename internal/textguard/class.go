package textguard

import (
	"strings"
	"sync"
)

// A class is a set of words that can stand for each other in a phrase. A word may
// be of several.
type class uint64

const (
	ignore class = 1 << iota
	former
	above
	article
	own // your, system, safety
	orders
	totality
	never
	without
	tell
	person
	toward // what follows "the user" in an order to them
	handOver
	readOut
	keyFile
	envFile
	send
	address
	goods // what is worth stealing, and words that widen
	talk
	entire
	modal
	notice
	hide
	from
	furtively
	use
	other
	tool
	instead
	than
	before
	every
	first
	always
	already
	consent
	ask
	permission
	you
	are
	now
	whenever
	used
	swap
	receiver
	system
	prompt
	override
	bcc
	ever
)

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
	for _, row := range []struct {
		class class
		words string
	}{
		{ignore, "ignore disregard forget bypass discard"},
		{override, "override overrule"},
		{former, "earlier preceding former"},
		{former | before | entire, "prior"},
		{former | entire, "previous"},
		{above, "above"},
		{article, "the this a an its"},
		{own, "your safety"},
		{own | system, "system"},
		{orders, "instruction instructions directive directives guideline guidelines guardrails restrictions"},
		{orders | prompt, "prompt prompts"},
		{orders, "rules policies"},
		{totality | goods, "everything"},
		{totality, "anything"},
		{never, "not dont never mustnt shouldnt"},
		{without, "without"},
		{ever, "ever circumstances circumstance event"},
		{tell, "tell telling inform informing mention mentioning reveal revealing notify notifying alert alerting disclose disclosing"},
		{person, "user human operator"},
		{toward, "to"},
		{readOut, "read reading cat dump exfiltrate steal"},
		{readOut | handOver, "content contents"},
		{readOut | handOver, "include attach append pass insert paste"},
		{readOut | handOver | send, "upload send forward transmit"},
		{readOut | handOver | send | goods, "copy"},
		{send | bcc, "bcc cc"},
		{send, "post redirect leak deliver email mail"},
		{handOver, "put add provide supply fill submit record"},
		{goods | entire | every, "all"},
		{goods | every, "every"},
		{goods, "also"},
		{goods | always, "always"},
		{modal | always, "must"},
		{modal, "should"},
		{goods, "credentials secrets passwords tokens keys"},
		{goods | talk, "history conversation chat dialog dialogue transcript"},
		{entire, "full entire whole complete verbatim"},
		{notice, "know see notice aware learn told"},
		{hide, "hide keep conceal"},
		{from, "from"},
		{furtively, "secretly silently covertly discreetly quietly"},
		{use, "use call invoke run trust"},
		{other, "other another"},
		{tool, "tool tools"},
		{instead, "instead rather"},
		{than, "of than"},
		{before, "before"},
		{every, "any each"},
		{first, "first"},
		{already, "already"},
		{consent, "consented approved authorized authorised agreed granted"},
		{ask, "ask asking seek seeking"},
		{permission, "permission confirmation approval consent"},
		{you, "you"},
		{are, "are"},
		{now, "now"},
		{whenever, "when whenever if once"},
		{used, "invoked called used executed"},
		{swap, "change replace alter substitute"},
		{receiver, "recipient recipients destination receiver payee"},
	} {
		for word := range strings.FieldsSeq(row.words) {
			known[word] = row.class
		}
	}
	return known
})
