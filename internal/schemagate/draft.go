package schemagate

import (
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

// listsItems reports whether items is a list anywhere in a schema.
func listsItems(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if _, list := value["items"].([]any); list {
			return true
		}
		for _, member := range value {
			if listsItems(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, listsItems)
	}
	return false
}

// drafts are those that are supported. A schema that names none is of the first. If it is no schema there
// because items is a list somewhere, it is of draft-07, which many servers write without saying so.
func drafts() []draft {
	return []draft{
		{"json-schema.org/draft/2020-12/schema", false, "$defs", jsonschema.Draft2020},
		{"json-schema.org/draft/2019-09/schema", false, "$defs", jsonschema.Draft2019},
		{"json-schema.org/draft-07/schema", true, "definitions", jsonschema.Draft7},
		{"json-schema.org/draft-06/schema", true, "definitions", jsonschema.Draft6},
	}
}

// draftOf returns the dialect that $schema names; nil means the newest.
func draftOf(schema any) (draft, error) {
	if schema == nil {
		return drafts()[0], nil
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
