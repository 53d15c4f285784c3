package content

import (
	"strings"

	near "github.com/mcpbelt/mcpbelt/internal/nearest"
)

const maxSuggestions = 3

// didYouMean returns the end of an error that has suggestions.
func didYouMean(suggestions []string) string {
	if len(suggestions) == 0 {
		return ""
	}
	quoted := make([]string, len(suggestions))
	for i, s := range suggestions {
		quoted[i] = shown(s)
	}
	last := len(quoted) - 1
	text := quoted[last]
	if last > 0 {
		text = strings.Join(quoted[:last], ", ") + " or " + text
	}
	return "; did you mean " + text + "?"
}

// nearest returns up to three of the names that may have been meant, the nearest first.
func nearest(asked string, names []string) []string {
	return near.Names(asked, names, maxSuggestions)
}
