package rest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// decodeText returns the body of an answer as text; ok is false if it is none, or in
// a charset that is not known here. Bytes that are no character become U+FFFD.
func decodeText(body []byte, media, charset string) (text string, ok bool) {
	switch strings.ToLower(charset) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
	case "iso-8859-1", "latin1", "windows-1252", "cp1252":
		return fromWindows1252(body), true
	default:
		return "", false
	}
	if !isText(media) && (media != "application/octet-stream" || !looksLikeText(body)) {
		return "", false
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	return strings.ToValidUTF8(string(body), "\ufffd"), true
}

// isText reports whether a media type is one of texts.
func isText(media string) bool {
	switch {
	case strings.HasPrefix(media, "text/"), isJSON(media), strings.HasSuffix(media, "+xml"), strings.HasSuffix(media, "+yaml"):
		return true
	}
	switch media {
	case "application/xml", "application/javascript", "application/ecmascript", "application/yaml", "application/x-yaml", "application/toml",
		"application/x-www-form-urlencoded", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-seq",
		"application/graphql", "application/sql", "application/x-sh", "application/pgp-signature", "application/x-pem-file":
		return true
	}
	return false
}

// looksLikeText reports whether bytes of an unknown type are plainly text.
func looksLikeText(body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	return !bytes.ContainsFunc(body, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f })
}

// fromWindows1252 decodes what is called ISO-8859-1 on the web, too (WHATWG Encoding,
// section 4.2).
func fromWindows1252(body []byte) string {
	const high = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"
	var table [32]rune
	i := 0
	for _, r := range high {
		table[i] = r
		i++
	}
	var text strings.Builder
	text.Grow(len(body))
	for _, c := range body {
		if c >= 0x80 && c < 0xa0 {
			text.WriteRune(table[c-0x80])
		} else {
			text.WriteRune(rune(c))
		}
	}
	return text.String()
}
