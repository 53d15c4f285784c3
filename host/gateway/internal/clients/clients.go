package clients

import (
	_ "embed" // the rows
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Client is what is known of the clients of one name. The zero Client says that nothing is.
type Client struct {
	// Title is what people call it.
	Title string `json:"title"`
	// Name is the name that it gives of itself, in lower case. A * at the end stands for any
	// characters.
	Name string `json:"name"`
	// From is the first version that the row is for. Empty: any.
	From string `json:"from,omitempty"`
	// Mode is the list that it gets: direct or search. Empty: as of a client that is not known.
	Mode string `json:"mode,omitempty"`
	// AnswerWithinSeconds is after what time a call has to be answered in some way. 0: it need not.
	AnswerWithinSeconds int `json:"answerWithinSeconds,omitempty"`
	// NoElicitation says that it cannot ask its user, whatever it declares.
	NoElicitation bool `json:"noElicitation,omitempty"`
	// NameBytes bounds the name of a tool together with that of its server. 0: it does not.
	NameBytes int `json:"nameBytes,omitempty"`
	// RequiresUserInteraction says that it knows that member of a tool's _meta, anthropic/requiresUserInteraction.
	RequiresUserInteraction bool `json:"requiresUserInteraction,omitempty"`
	// MaxResultSizeChars is the largest value of anthropic/maxResultSizeChars that it knows. 0: it does not.
	MaxResultSizeChars int `json:"maxResultSizeChars,omitempty"`
	// Facts are what the row comes from.
	Facts []string `json:"facts"`
}

//go:embed clients.json
var data []byte

// Rows are what is known, in the order in which it is looked for.
type Rows []Client

// Read returns the rows of the data file, which is part of the program.
func Read() (Rows, error) {
	var rows Rows
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("clients: reading clients.json: %w", err)
	}
	return rows, nil
}

// Find returns the first row that is for a client of that name and version, or nil if there is none. The case of
// letters in the name does not count.
func (rows Rows) Find(name, version string) *Client {
	for i := range rows {
		if c := &rows[i]; fits(c.Name, name) && (c.From == "" || !less(version, c.From)) {
			return c
		}
	}
	return nil
}

// fits reports whether a name is that of a row.
func fits(pattern, name string) bool {
	if first, open := strings.CutSuffix(pattern, "*"); open {
		return len(name) >= len(first) && strings.EqualFold(name[:len(first)], first)
	}
	return strings.EqualFold(name, pattern)
}

// less reports whether a version comes before another: number by number, up to what is none.
func less(a, b string) bool {
	for a != "" || b != "" {
		var x, y int
		x, a = number(a)
		y, b = number(b)
		if x != y {
			return x < y
		}
	}
	return false
}

// number returns the number that a version begins with, and what follows its dot. What is no number is 0, and ends
// the version.
func number(version string) (n int, rest string) {
	digits := 0
	for digits < len(version) && '0' <= version[digits] && version[digits] <= '9' {
		digits++
	}
	n, _ = strconv.Atoi(version[:min(digits, 9)])
	if digits == len(version) || version[digits] != '.' {
		return n, ""
	}
	return n, version[digits+1:]
}
