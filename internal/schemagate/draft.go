package schemagate

import (
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

// draftOf returns the dialect that $schema names; nil means the newest.
func draftOf(schema any) (draft, error) {
	if schema == nil {
		return draft{"json-schema.org/draft/2020-12/schema", false, "$defs", jsonschema.Draft2020}, nil
	}
	text, ok := schema.(string)
	if !ok {
		return draft{}, refuse(Invalid, "", "$schema is not a string")
	}
	url := strings.TrimSuffix(text, "#")
	if _, rest, ok := strings.Cut(url, "://"); ok && strings.HasPrefix(url, "http") {
		url = rest
	}
	switch url {
	case "json-schema.org/draft/2020-12/schema":
		return draft{url, false, "$defs", jsonschema.Draft2020}, nil
	case "json-schema.org/draft/2019-09/schema":
		return draft{url, false, "$defs", jsonschema.Draft2019}, nil
	case "json-schema.org/draft-07/schema":
		return draft{url, true, "definitions", jsonschema.Draft7}, nil
	case "json-schema.org/draft-06/schema":
		return draft{url, true, "definitions", jsonschema.Draft6}, nil
	}
	return draft{}, refuse(Dialect, "", "the dialect %s is not supported", quote(text))
}

// tuples reports whether tuples have a keyword of their own.
func (d draft) tuples() bool { return d.compiler == jsonschema.Draft2020 }

// conditions reports whether the dialect knows if, then and else.
func (d draft) conditions() bool { return d.compiler != jsonschema.Draft6 }
