package registry

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A textGap is what is left out of a text.
type textGap struct{ from, to int }

// gapIn returns the gap that leaves at most room bytes of a text, at its
// beginning and its end, parted between characters and, if one is near, lines.
func gapIn(text string, room int, failed bool) textGap {
	tail := room / 100 * tailShare(text, failed)
	from := lineStartBefore(text, room-tail)
	to := lineStartAfter(text, len(text)-tail)
	return textGap{from, max(from, to)}
}

// errorWords are what the end of an output holds that went wrong.
var errorWords = regexp.MustCompile(`(?i)\b(error|errors|failed|failure|fatal|panic|exception|traceback|denied|abort(ed)?)\b|Error\b|Exception\b`)

// tailShare returns how much of the room goes to the end of a text, in percent.
func tailShare(text string, failed bool) int {
	const last = 2 << 10
	switch {
	case failed:
		return 50
	case errorWords.MatchString(text[max(0, len(text)-last):]):
		return 60
	}
	return 25
}

// nearLine is how far away a line may end for a text to be cut there.
func nearLine(room int) int { return min(room/8, 512) }

// lineStartBefore returns the last place up to at where a text can be cut.
func lineStartBefore(text string, at int) int {
	at = characterAt(text, at)
	if i := strings.LastIndexByte(text[:at], '\n'); i >= 0 && at-i-1 <= nearLine(at) {
		return i + 1
	}
	return at
}

// lineStartAfter returns the first place from at on where a text can be cut.
func lineStartAfter(text string, at int) int {
	if start := characterAt(text, at); start < at {
		_, size := utf8.DecodeRuneInString(text[start:])
		at = start + size
	}
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i < nearLine(len(text)-at) {
		return at + i + 1
	}
	return at
}

// characterAt returns the beginning of the character that a place lies in. A
// byte that is no part of any is one by itself.
func characterAt(text string, at int) int {
	if at >= len(text) || utf8.RuneStart(text[at]) {
		return min(at, len(text))
	}
	for start := at - 1; start >= 0 && at-start < utf8.UTFMax; start-- {
		if _, size := utf8.DecodeRuneInString(text[start:]); size > at-start {
			return start
		}
	}
	return at
}
