package registry

// builtinSynonyms returns the stems of words that mean the same as that of a stem.
func builtinSynonyms(stem string) []string { return nil }

// isStopWord reports whether a word of a query says nothing of what is looked for.
func isStopWord(word string) bool { return false }
