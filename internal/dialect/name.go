package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Bounds of what an entry says.
const (
	// MaxName bounds a server's name, in bytes: it is half of the name of each tool, and
	// models take tool names of 64 to 128.
	MaxName = 64
	// MaxTitle bounds the name of a server as written, in characters, which are bytes.
	MaxTitle = 128
	// MaxTimeout is far more than a user waits, and far from overflow.
	MaxTimeout = 365 * 24 * time.Hour
)

// ServerName turns a title into the name of its server: what Sanitize makes of it, of
// which a long one is cut and told from its like by a hash of the title.
func ServerName(title string) string {
	const room = 9 // for _ and the hash
	name := Sanitize(title)
	if len(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(title))
	return strings.TrimRight(name[:MaxName-room], "_") + "_" + hex.EncodeToString(sum[:4])
}

// Sanitize turns a title into a name of [A-Za-z0-9_-] that starts with a letter
// or digit: other characters become '_', runs of '_' become one, those at the
// ends go. So the first "__" in the full name of a tool is always the end of
// its server's name. It returns "" if nothing is left.
func Sanitize(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range title {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-' && b.Len() > 0:
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	return b.String()
}
