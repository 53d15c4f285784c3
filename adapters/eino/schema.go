package eino

import (
	"encoding/json"

	"github.com/eino-contrib/jsonschema"
)

func schemaOf(raw json.RawMessage) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	return s, json.Unmarshal(raw, s)
}
