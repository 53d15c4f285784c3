package plain

import "fmt"

// Number returns a number of things in words: 1 block, 2 blocks.
func Number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Article returns a type of JSON with its article: an array, a string, null.
func Article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array", "integer", "object":
		return "an " + kind
	}
	return "a " + kind
}
