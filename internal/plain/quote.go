package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted is how much of a text Quote shows, in bytes.
const maxQuoted = 256

// Quote quotes a name of others for an error text. The length is bounded, and nothing
// in the name can forge a line of the text.
func Quote(name string) string {
	if len(name) <= maxQuoted {
		return Text(strconv.Quote(name))
	}
	cut := maxQuoted
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return Text(strings.TrimSuffix(strconv.Quote(name[:cut]), `"`) + `…"`)
}

// Number returns a number of things in words: 1 block, 2 blocks.
func Number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
