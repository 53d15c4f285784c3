package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

// Elicit asks for the fields of a form one after the other, again if an answer
// does not fit, shows all before it is sent, and lets the user change it, send
// it, decline or cancel.
func (c *Console) Elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	content := map[string]any{}
	action, err := c.hold(ctx, func(d *dialog) error { return d.fillIn(r, content) })
	return answered(action, content, err)
}

func (d *dialog) fillIn(r *mcp.ElicitRequest, content map[string]any) error {
	d.say("\nServer %s asks you:\n", strconv.Quote(line(r.Server)))
	if r.Params != nil {
		d.say("%s", quoted(r.Params.Message))
	}
	for _, warning := range r.Form.Warnings() {
		d.say("  Warning: %s\n", line(warning))
	}
	if len(r.Form.Fields) > 0 {
		d.say("Instead of an answer you can type /decline or /cancel, and /skip to leave a field out.\n")
	}
	for i := range r.Form.Fields {
		if err := d.field(i, &r.Form.Fields[i], content); err != nil {
			return err
		}
	}
	for {
		d.review(r, content)
		text, err := d.ask(fmt.Sprintf("Send this to %s? [s]end, [e]dit, [d]ecline, [c]ancel: ", strconv.Quote(line(r.Server))))
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "s", "send", "y", "yes":
			var wrong *form.FieldError
			_, err := r.Form.Fill(content)
			if !errors.As(err, &wrong) {
				return err
			}
			d.say("It cannot be sent: %s.\n", line(wrong.Error()))
		case "e", "edit":
			if err := d.edit(r, content); err != nil {
				return err
			}
		case "d", "decline", "n", "no":
			return left(decline)
		case "c", "cancel":
			return left(cancel)
		}
	}
}

// edit asks for one field again.
func (d *dialog) edit(r *mcp.ElicitRequest, content map[string]any) error {
	switch len(r.Form.Fields) {
	case 0:
		return nil
	case 1:
		return d.field(0, &r.Form.Fields[0], content)
	}
	text, err := d.ask(fmt.Sprintf("Which field, 1 to %d? ", len(r.Form.Fields)))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > len(r.Form.Fields) {
		return nil
	}
	return d.field(n-1, &r.Form.Fields[n-1], content)
}

// field asks for one field until the answer fits.
func (d *dialog) field(i int, f *form.Field, content map[string]any) error {
	d.say("\n%d. %s (%s)\n", i+1, line(f.Label()), line(wanted(f)))
	if f.Description != "" {
		d.say("%s", quoted(f.Description))
	}
	numbered := countable(f.Choices)
	for n, choice := range f.Choices {
		mark := "  -"
		if numbered {
			mark = fmt.Sprintf("  %d)", n+1)
		}
		d.say("%s %s\n", mark, line(named(choice)))
	}
	present, given := content[f.Name]
	given = given && present != nil
	switch {
	case given:
		d.say("Now: %s\n", line(shown(f, present)))
	case f.Default != nil:
		d.say("Default: %s\n", line(shown(f, f.Default)))
	}
	for {
		text, err := d.ask("> ")
		if err != nil {
			return err
		}
		switch strings.TrimSpace(text) {
		case "/skip":
			if f.Required {
				d.say("This field is needed.\n")
				continue
			}
			content[f.Name] = nil
			return nil
		case "":
			if given {
				return nil
			}
			if f.Required && f.Default == nil {
				d.say("This field is needed.\n")
				continue
			}
			delete(content, f.Name)
			return nil
		}
		value, err := f.Parse(text)
		if wrong, ok := errors.AsType[*form.FieldError](err); ok {
			d.say("Your answer %s.\n", line(wrong.Problem))
			continue
		}
		content[f.Name] = value
		return nil
	}
}

// review shows all fields as they will be sent.
func (d *dialog) review(r *mcp.ElicitRequest, content map[string]any) {
	d.say("\n")
	for i := range r.Form.Fields {
		f := &r.Form.Fields[i]
		value, given := content[f.Name]
		what := "(left out)"
		switch {
		case value != nil:
			what = line(shown(f, value))
		case !given && f.Default != nil:
			what = line(shown(f, f.Default)) + " (default)"
		}
		d.say("%d. %s: %s\n", i+1, line(f.Label()), what)
	}
}

// wanted says what a field wants, in a few words.
func wanted(f *form.Field) string {
	words := []string{"optional"}
	if f.Required {
		words[0] = "required"
	}
	switch {
	case f.Type == form.Array && len(f.Choices) > 0:
		words = append(words, "one or several of these, separated by commas")
	case len(f.Choices) > 0:
		words = append(words, "one of these")
	case f.Type == form.Array:
		words = append(words, "a list, separated by commas")
	case f.Type == form.Boolean:
		words = append(words, "yes or no")
	case f.Type == form.Integer:
		words = append(words, "a whole number")
	case f.Type == form.Number:
		words = append(words, "a number")
	}
	unit := map[string]string{form.String: " characters", form.Array: " of them"}[f.Type]
	if f.Min != nil {
		words = append(words, "at least "+f.Min.String()+unit)
	}
	if f.Max != nil {
		words = append(words, "at most "+f.Max.String()+unit)
	}
	if f.Format != "" {
		words = append(words, "format "+f.Format)
	}
	return strings.Join(words, ", ")
}

// countable reports whether choices can be told by their numbers.
func countable(choices []form.Choice) bool {
	for _, c := range choices {
		for _, text := range []string{c.Value, c.Title} {
			if _, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
				return false
			}
		}
	}
	return true
}

func named(c form.Choice) string {
	if c.Title == c.Value {
		return c.Title
	}
	return fmt.Sprintf("%s [%s]", c.Title, c.Value)
}

// shown is a value of a field for the user to read: what will be sent, with its
// title if it has one.
func shown(f *form.Field, value any) string {
	raw, _ := json.Marshal(value) // it was JSON, or is what Parse returns
	decoded := value
	exact := json.NewDecoder(bytes.NewReader(raw))
	exact.UseNumber()
	_ = exact.Decode(&decoded)
	switch v := decoded.(type) {
	case string:
		for _, c := range f.Choices {
			if c.Value == v {
				return named(c)
			}
		}
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = shown(f, v[i])
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(decoded)
}
