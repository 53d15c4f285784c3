// Package form reads the forms of elicitations: the schema by which a server asks a user
// for a flat object of simple values.
//
// [Parse] reads a schema into a [Form], whose fields a program shows to the user;
// [Field.Parse] turns what the user typed into a value; [Form.Fill] checks an answer, and
// adds the defaults. Package mcp does the first and the last for each elicitation.
//
//	f, err := form.Parse(schema)
//	if err != nil {
//		return err // a *form.SchemaError
//	}
//	for i := range f.Fields {
//		fmt.Println(f.Fields[i].Label())
//	}
//	content, err := f.Fill(map[string]any{"name": "Ann"})
//
// The schema is a server's and not trusted: a form has up to 100 fields of up to 1,000
// choices, a pattern that would take long to match is not checked, and nothing is
// fetched.
package form
