package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A handler that asks again checks what the user has answered before it returns.
func ExampleElicitRequest_Fill() {
	r := &mcp.ElicitRequest{Params: &mcp.ElicitParams{RequestedSchema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"name": {"type": "string", "minLength": 2},
			"news": {"type": "boolean", "default": false}
		},
		"required": ["name"]
	}`)}}

	_, err := r.Fill(map[string]any{"name": "A"})
	var wrong *mcp.FieldError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Field, wrong.Problem)
	}
	content, err := r.Fill(map[string]any{"name": "Ann"})
	fmt.Printf("%s %s %v\n", content["name"], content["news"], err)
	// Output:
	// name is shorter than 2 characters
	// "Ann" false <nil>
}

func ExampleFormField_Parse() {
	color := mcp.FormField{Name: "color", Type: mcp.FieldString, Choices: []mcp.Choice{
		{Value: "#f00", Title: "Red"}, {Value: "#00f", Title: "Blue"},
	}}
	for _, typed := range []string{"blue", "1", "pink"} {
		fmt.Println(color.Parse(typed))
	}
	// Output:
	// #00f <nil>
	// #f00 <nil>
	// <nil> the answer's "color" is none of the choices
}

func ExampleFormField_Label() {
	f := mcp.FormField{Name: "dob", Title: "Date of birth"}
	fmt.Println(f.Label())
	// Output:
	// Date of birth
}
