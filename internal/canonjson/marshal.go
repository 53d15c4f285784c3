package canonjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without the escapes that only HTML needs.
func Marshal(v any) ([]byte, error) {
	data, err := marshal(v, "")
	return bytes.TrimSuffix(data, []byte("\n")), err
}

// MarshalLines is Marshal for a file: with a line for each value, and a line break at the end.
func MarshalLines(v any) ([]byte, error) { return marshal(v, "  ") }

func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}
