package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type geminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

// geminiName is what users are answered that names have to be, not what is documented.
var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func (f geminiFunction) check() error {
	if !geminiName.MatchString(f.Name) {
		return fmt.Errorf("name: invalid function name %q", f.Name)
	}
	if len(f.Parameters) == 0 {
		return nil
	}
	var schema map[string]any
	if err := json.Unmarshal(f.Parameters, &schema); err != nil {
		return fmt.Errorf("parameters_json_schema: %w", err)
	}
	if schema["type"] != "object" {
		return errors.New("parameters_json_schema.type: must be object")
	}
	return geminiSchema("parameters_json_schema", schema, 1)
}

// geminiKeyword returns the type beside which a keyword of parametersJsonSchema
// stands, which is empty if it stands beside any, and whether there is such a keyword.
func geminiKeyword(keyword string) (beside string, known bool) {
	switch keyword {
	case "type", "format", "title", "description", "enum", "minimum", "maximum", "default", "anyOf", "oneOf":
		return "", true
	case "items", "prefixItems", "minItems", "maxItems":
		return "array", true
	case "properties", "additionalProperties", "required", "propertyOrdering":
		return "object", true
	}
	return "", false
}

// geminiSchema refuses what either service is known to refuse.
func geminiSchema(at string, value any, depth int) error {
	schema, ok := value.(map[string]any)
	if !ok || depth > 16 {
		return fmt.Errorf("%s: no schema, or too deep", at)
	}
	_, anyOf := schema["anyOf"]
	_, oneOf := schema["oneOf"]
	types, err := geminiTypes(schema["type"])
	if err != nil || len(types) == 0 && !anyOf && !oneOf {
		return fmt.Errorf("%s: didn't specify the schema type field: %v", at, schema["type"])
	}
	for keyword := range schema {
		beside, known := geminiKeyword(keyword)
		switch {
		case !known:
			return fmt.Errorf("%s: unknown name %q: cannot find field", at, keyword)
		case beside != "" && !slices.Contains(types, beside):
			return fmt.Errorf("%s.%s: only allowed for %s", at, keyword, strings.ToUpper(beside))
		case (anyOf || oneOf) && !slices.Contains([]string{"anyOf", "oneOf", "title", "description", "default"}, keyword):
			return fmt.Errorf("%s: specified other fields alongside any_of: %s", at, keyword)
		}
	}
	if slices.Contains(types, "array") && schema["items"] == nil && schema["prefixItems"] == nil {
		return fmt.Errorf("%s.items: missing field", at)
	}
	return geminiParts(at, schema, depth)
}

func geminiTypes(value any) ([]string, error) {
	var types []string
	switch value := value.(type) {
	case nil:
	case string:
		types = []string{value}
	case []any:
		for _, v := range value {
			types = append(types, fmt.Sprint(v))
		}
		if len(types) != 2 || !slices.Contains(types, "null") {
			return nil, errors.New("neither one type nor one and null")
		}
	default:
		return nil, errors.New("no type")
	}
	for _, t := range types {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, t) {
			return nil, fmt.Errorf("type %q", t)
		}
	}
	return types, nil
}

// geminiParts checks the schemas in a schema.
func geminiParts(at string, schema map[string]any, depth int) error {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := properties[fmt.Sprint(name)]; !ok {
			return fmt.Errorf("%s.required: property %v is not defined", at, name)
		}
	}
	within := map[string]any{}
	for name, property := range properties {
		within["properties."+name] = property
	}
	for _, keyword := range []string{"anyOf", "oneOf", "prefixItems"} {
		list, _ := schema[keyword].([]any)
		for i, item := range list {
			within[fmt.Sprintf("%s[%d]", keyword, i)] = item
		}
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		v, there := schema[keyword]
		if _, open := v.(bool); there && !(open && keyword == "additionalProperties") {
			within[keyword] = v
		}
	}
	for name, value := range within {
		if err := geminiSchema(at+"."+name, value, depth+1); err != nil {
			return err
		}
	}
	return nil
}
