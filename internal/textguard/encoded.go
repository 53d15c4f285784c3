package textguard

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

const (
	minEncoded = 32      // characters that are worth decoding
	maxEncoded = 4 << 10 // of one run that are decoded
)

// Encoded finds base64 or hexadecimal digits that, decoded, urge or hide
// something. It returns where they are, and what they say.
func Encoded(text string) (start, end int, decoded string, ok bool) {
	for i := 0; i < len(text); {
		if !isDigit64(text[i]) {
			i++
			continue
		}
		start = i
		for i < len(text) && isDigit64(text[i]) {
			i++
		}
		if i-start < minEncoded {
			continue
		}
		for _, decoded := range decodings(text[start:min(i, start+maxEncoded)]) {
			if !utf8.ValidString(decoded) {
				continue
			}
			urge, urges := Urging(decoded)
			if urges && !urge.Mild || len(Hidden(decoded)) > 0 && strings.Count(decoded, " ") > 2 {
				return start, i, decoded, true
			}
		}
	}
	return 0, 0, "", false
}

// isDigit64 reports whether c is a digit of base64, in either alphabet, or its
// padding.
func isDigit64(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

func decodings(run string) []string {
	var all []string
	if raw, err := hex.DecodeString(run[:len(run)&^1]); err == nil {
		all = append(all, string(raw))
	}
	run = strings.TrimRight(run, "=")
	run = run[:len(run)&^3+trailing(len(run)&3)]
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if raw, err := encoding.DecodeString(run); err == nil {
			all = append(all, string(raw))
		}
	}
	return all
}

// trailing returns how many digits of an incomplete group can be decoded.
func trailing(rest int) int {
	if rest == 1 {
		return 0
	}
	return rest
}
