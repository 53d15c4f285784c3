package form

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/textguard"
)

// asksForSecret reports whether a field is called as secrets are. It reads names as
// people do: whatever separates their words, and letters that only look Latin.
func (f *Field) asksForSecret() bool {
	switch f.Type {
	case Boolean:
		return false
	case String, Array:
		if f.Format == "password" {
			return true
		}
	}
	if len(f.Choices) > 0 {
		return false
	}
	return f.callsSecret(f.Name) || f.callsSecret(f.Title)
}

// secretWords are those that stand for a secret by themselves, and at the end of longer
// ones; secretPairs do so together.
const (
	secretWords = "password passwd passphrase passcode secret token apikey accesskey privatekey secretkey credential"
	shortWords  = "pwd otp totp cvv cvc pin"
	secretPairs = "pass word|api key|access key|private key|secret key|signing key|encryption key|auth key|ssh key|" +
		"card number|credit card|security code|verification code|recovery code|backup code|seed phrase|recovery phrase|one time|2fa code|mfa code"
)

// callsSecret reports whether a name or title calls the field a secret.
func (f *Field) callsSecret(text string) bool {
	words := wordsOf(text)
	number := f.Type == Number || f.Type == Integer // of tokens, perhaps
	for i, word := range words {
		for secret := range strings.FieldsSeq(secretWords) {
			if strings.HasSuffix(word, textguard.Skeleton(secret)) && !(number && secret == "token") {
				return true
			}
		}
		for secret := range strings.FieldsSeq(shortWords) {
			if word == textguard.Skeleton(secret) {
				return true
			}
		}
		if i == 0 {
			continue
		}
		for pair := range strings.SplitSeq(secretPairs, "|") {
			if words[i-1]+"_"+word == textguard.Skeleton(pair) {
				return true
			}
		}
	}
	return false
}

// capital matches where a word begins in fooBar.
var capital = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// wordsOf returns the words of a name or title as [textguard.Skeleton] writes them,
// without numbers at their ends and the s of a plural.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(capital.ReplaceAllString(text, "${1}_$2"), func(r rune) bool {
		return r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsSpace(r)
	})
	for i, word := range words {
		word = strings.TrimRight(word, "0123456789")
		words[i] = textguard.Skeleton(word)
		if !strings.HasSuffix(words[i], "ss") {
			words[i] = strings.TrimSuffix(words[i], "s")
		}
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}
