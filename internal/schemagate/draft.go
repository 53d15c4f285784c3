package schemagate

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A draft is a dialect that is supported.
type draft struct {
	url      string
	refAlone bool // beside $ref all else is ignored
	defs     string
	compiler *jsonschema.Draft
}

// A schema that names no dialect is of the newest that is supported. If it is no
// schema there because items is a list somewhere, it is of the one that many
// servers write without saying so.
const (
	newest  = "json-schema.org/draft/2020-12/schema"
	unnamed = "json-schema.org/draft-07/schema"
)

// eitherDialect tries to read a schema that may name no dialect. The error is that
// of the newest one.
func eitherDialect[T any](raw json.RawMessage, read func(unnamed string) (T, error)) (T, error) {
	v, err := read(newest)
	var refused *SchemaError
	if errors.As(err, &refused) && refused.Token == Invalid && listsItems(raw) {
		if old, second := read(unnamed); second == nil {
			return old, nil
		}
	}
	return v, err
}

// listsItems reports whether items is a list anywhere in a schema.
func listsItems(raw json.RawMessage) bool {
	root, err := parse(raw)
	return err == nil && listsItemsWithin(root)
}

func listsItemsWithin(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if _, list := value["items"].([]any); list {
			return true
		}
		for _, member := range value {
			if listsItemsWithin(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, listsItemsWithin)
	}
	return false
}

func drafts() []draft {
	return []draft{
		{newest, false, "$defs", jsonschema.Draft2020},
		{"json-schema.org/draft/2019-09/schema", false, "$defs", jsonschema.Draft2019},
		{unnamed, true, "definitions", jsonschema.Draft7},
		{"json-schema.org/draft-06/schema", true, "definitions", jsonschema.Draft6},
	}
}

// draftOf returns the dialect that $schema names; nil means the unnamed one.
func draftOf(schema any, unnamed string) (draft, error) {
	if schema == nil {
		schema = "https://" + unnamed
	}
	text, ok := schema.(string)
	if !ok {
		return draft{}, refuse(Invalid, "", "$schema is not a string")
	}
	url := strings.TrimSuffix(text, "#")
	if _, rest, ok := strings.Cut(url, "://"); ok && strings.HasPrefix(url, "http") {
		url = rest
	}
	for _, d := range drafts() {
		if d.url == url {
			return d, nil
		}
	}
	return draft{}, refuse(Dialect, "", "the dialect %s is not supported", quote(text))
}

// tuples reports whether tuples have a keyword of their own.
func (d draft) tuples() bool { return d.compiler == jsonschema.Draft2020 }

// conditions reports whether the dialect knows if, then and else.
func (d draft) conditions() bool { return d.compiler != jsonschema.Draft6 }
