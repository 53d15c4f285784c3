package clients

import (
	_ "embed" // the rows
	"encoding/json"
	"strings"
)

// A Client is what is known of the clients of one name. The zero Client says that nothing is.
type Client struct {
	// Title is what people call it.
	Title string `json:"title"`
	// Name is the name that it gives of itself, in lower case. A * at the end stands for any
	// characters.
	Name string `json:"name"`
	// Mode is the list that it gets: direct or search. Empty: as of a client that is not known.
	Mode string `json:"mode,omitempty"`
	// AnswerWithinSeconds is after what time a call has to be answered in some way. 0: it need not.
	AnswerWithinSeconds int `json:"answerWithinSeconds,omitempty"`
	// NoElicitation says that it cannot ask its user, whatever it declares.
	NoElicitation bool `json:"noElicitation,omitempty"`
	// NeverAsks says that it lets its model call tools without asking its user.
	NeverAsks bool `json:"neverAsks,omitempty"`
	// NameBytes bounds the name of a tool together with that of its server. 0: it does not.
	NameBytes int `json:"nameBytes,omitempty"`
	// MaxResultSizeChars is the largest value of anthropic/maxResultSizeChars that it knows; such a client knows
	// anthropic/requiresUserInteraction too. 0: it knows neither.
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
	err := json.Unmarshal(data, &rows)
	return rows, err
}

// Find returns the first row that is for a client of that name, or the zero Client. The case of
// letters in the name does not count.
func (rows Rows) Find(name string) Client {
	for _, row := range rows {
		first, open := strings.CutSuffix(row.Name, "*")
		if strings.EqualFold(name, row.Name) || open && len(name) >= len(first) && strings.EqualFold(name[:len(first)], first) {
			return row
		}
	}
	return Client{}
}
