package textguard

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

func classOf(text string) class {
	switch text {
	case "ignore", "disregard", "forget", "bypass", "discard":
		return ignore
	case "override", "overrule":
		return override
	case "earlier", "preceding", "former":
		return former
	case "prior":
		return former | before | entire
	case "previous":
		return former | entire
	case "above":
		return above
	case "the", "this", "a", "an", "its":
		return article
	case "your", "safety":
		return own
	case "system":
		return own | system
	case "instruction", "instructions", "directive", "directives", "guideline", "guidelines", "guardrails", "restrictions":
		return orders
	case "prompt", "prompts":
		return orders | prompt
	case "rules", "policies":
		return orders
	case "everything":
		return totality | goods
	case "anything":
		return totality
	case "not", "dont", "never", "mustnt", "shouldnt":
		return never
	case "without":
		return without
	case "ever", "circumstances", "circumstance", "event":
		return ever
	case "tell", "telling", "inform", "informing", "mention", "mentioning", "reveal", "revealing", "notify", "notifying", "alert", "alerting", "disclose", "disclosing":
		return tell
	case "user", "human", "operator":
		return person
	case "to":
		return toward
	case "read", "reading", "cat", "dump", "exfiltrate", "steal":
		return readOut
	case "content", "contents":
		return readOut | handOver
	case "include", "attach", "append", "pass", "insert", "paste":
		return readOut | handOver
	case "upload", "send", "forward", "transmit":
		return readOut | handOver | send
	case "copy":
		return readOut | handOver | send | goods
	case "bcc", "cc":
		return send | bcc
	case "post", "redirect", "leak", "deliver", "email", "mail":
		return send
	case "put", "add", "provide", "supply", "fill", "submit", "record":
		return handOver
	case "all":
		return goods | entire | every
	case "every":
		return goods | every
	case "also":
		return goods
	case "always":
		return goods | always
	case "must":
		return modal | always
	case "should":
		return modal
	case "credentials", "secrets", "passwords", "tokens", "keys":
		return goods
	case "history", "conversation", "chat", "dialog", "dialogue", "transcript":
		return goods | talk
	case "full", "entire", "whole", "complete", "verbatim":
		return entire
	case "know", "see", "notice", "aware", "learn", "told":
		return notice
	case "hide", "keep", "conceal":
		return hide
	case "from":
		return from
	case "secretly", "silently", "covertly", "discreetly", "quietly":
		return furtively
	case "use", "call", "invoke", "run", "trust":
		return use
	case "other", "another":
		return other
	case "tool", "tools":
		return tool
	case "instead", "rather":
		return instead
	case "of", "than":
		return than
	case "before":
		return before
	case "any", "each":
		return every
	case "first":
		return first
	case "already":
		return already
	case "consented", "approved", "authorized", "authorised", "agreed", "granted":
		return consent
	case "ask", "asking", "seek", "seeking":
		return ask
	case "permission", "confirmation", "approval", "consent":
		return permission
	case "you":
		return you
	case "are":
		return are
	case "now":
		return now
	case "when", "whenever", "if", "once":
		return whenever
	case "invoked", "called", "used", "executed":
		return used
	case "change", "replace", "alter", "substitute":
		return swap
	case "recipient", "recipients", "destination", "receiver", "payee":
		return receiver
	}
	return 0
}
