package form_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp/form"
)

func ExampleForm_Fill() {
	f, err := form.Parse(json.RawMessage(`{
		"type": "object",
		"properties": {
			"name": {"type": "string", "minLength": 2},
			"news": {"type": "boolean", "default": false}
		},
		"required": ["name"]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = f.Fill(map[string]any{"name": "A"})
	var wrong *form.FieldError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Field, wrong.Problem)
	}
	content, err := f.Fill(map[string]any{"name": "Ann"})
	fmt.Printf("%s %s %v\n", content["name"], content["news"], err)
	// Output:
	// name is shorter than 2 characters
	// "Ann" false <nil>
}

func ExampleForm_Warnings() {
	f, err := form.Parse(json.RawMessage(`{"type": "object", "properties": {"apiKey": {"type": "string"}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Fields[0].Secret, f.Warnings())
	// Output:
	// true [Field 1 asks for what looks like a secret, such as a password or a token. Servers must not ask for that in a form.]
}

func ExampleField_Parse() {
	color := form.Field{Name: "color", Type: form.String, Choices: []form.Choice{
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

func ExampleField_Label() {
	f := form.Field{Name: "dob", Title: "Date of birth"}
	fmt.Println(f.Label())
	// Output:
	// Date of birth
}
