package schemagate

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// spelled returns the JSON value that a string spells, if it is of a kind that is
// allowed, and otherwise nil.
func spelled(quoted []byte, allowed kinds) []byte {
	content, _ := jsonscan.String(quoted)
	content = strings.Trim(content, " \t\r\n")
	switch content {
	case "True":
		content = "true"
	case "False":
		content = "false"
	}
	value := []byte(content)
	if jsonscan.Valid(value) != nil || kindOfJSON(value)&allowed == 0 {
		return nil
	}
	return value
}

// kindOfJSON returns the kind of a value that is checked JSON without white space
// before it.
func kindOfJSON(value []byte) kinds {
	switch value[0] {
	case '{':
		return object
	case '[':
		return array
	case '"':
		return text
	case 't', 'f':
		return boolean
	case 'n':
		return null
	}
	number := json.Number(value)
	if digits(number) > MaxDigits {
		return 0
	}
	if n, ok := new(big.Rat).SetString(string(number)); ok && n.IsInt() {
		return integer
	}
	return fraction
}
