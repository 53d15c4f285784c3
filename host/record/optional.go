package record

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// An Optional is a field of a [Patch]: a value, or nothing said. The zero Optional says
// nothing.
type Optional[T any] struct {
	Value T    // the zero value clears the field
	Set   bool // something is said
}

// Some returns an Optional that says value.
func Some[T any](value T) Optional[T] { return Optional[T]{value, true} }

// or returns the value that was said, or else another one.
func (o Optional[T]) or(otherwise T) T {
	if o.Set {
		return o.Value
	}
	return otherwise
}

// take decodes what a JSON value says; null clears.
func take[T any](o *Optional[T], raw []byte, decode func([]byte) (T, error)) error {
	o.Set = true
	if string(raw) == "null" {
		var zero T
		o.Value = zero
		return nil
	}
	var err error
	o.Value, err = decode(raw)
	return err
}

func takeText(raw []byte) (string, error) {
	text, ok := jsonscan.String(raw)
	if !ok {
		return "", fmt.Errorf("must be a string")
	}
	return text, nil
}

func takeBool(raw []byte) (bool, error) {
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("must be true or false")
}

// takeNot reads a switch that is kept the other way round.
func takeNot(raw []byte) (bool, error) {
	on, err := takeBool(raw)
	return !on, err
}

func takeTexts(raw []byte) ([]string, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, fmt.Errorf("must be an array of strings")
	}
	list := []string{}
	for elem := range jsonscan.Elements(raw) {
		text, ok := jsonscan.String(elem)
		if !ok {
			return nil, fmt.Errorf("must be an array of strings")
		}
		list = append(list, text)
	}
	return list, nil
}

func takeSecrets(raw []byte) (map[string]config.Secret, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fmt.Errorf("must be an object of strings")
	}
	m := map[string]config.Secret{}
	for key, value := range jsonscan.Fields(raw) {
		text, ok := jsonscan.String(value)
		if !ok {
			return nil, fmt.Errorf("must be an object of strings")
		}
		m[string(key)] = config.Secret(text)
	}
	return m, nil
}

func takeSeconds(raw []byte) (time.Duration, error) {
	var n float64
	if err := json.Unmarshal(raw, &n); err != nil {
		return 0, fmt.Errorf("must be a number of seconds")
	}
	if n < 0 || n > dialect.MaxTimeout.Seconds() || math.IsNaN(n) {
		return 0, fmt.Errorf("must be a number of seconds from 0 to %.0f", dialect.MaxTimeout.Seconds())
	}
	return time.Duration(math.Round(n * float64(time.Second))), nil
}
