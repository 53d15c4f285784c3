package catalog

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/session/keyringstore"
)

// An input is a value that the user may be asked for, in the form of server.json.
type input struct {
	Type, Name, ValueHint, Description, Value, Default string
	IsRequired, IsSecret, IsRepeated                   bool
	Choices                                            []string
	Variables                                          map[string]input
	ask                                                string // how it is called when it is asked for, if not by its own name
}

// named returns variables or headers.
func (o *Offer) named(ctx context.Context, inputs []input) map[string]string {
	all := map[string]string{}
	for _, in := range inputs {
		if values := o.values(ctx, in, in.Name); len(values) > 0 {
			all[in.Name] = values[0]
		}
	}
	return all
}

// arguments returns arguments, each behind its flag if it has one.
func (o *Offer) arguments(ctx context.Context, inputs []input) (args []string) {
	for _, in := range inputs {
		for _, value := range o.values(ctx, in, cmp.Or(strings.TrimLeft(in.Name, "-"), in.ValueHint)) {
			if in.Type == "named" {
				args = append(args, escape(in.Name))
			}
			args = append(args, value)
		}
	}
	return args
}

var (
	braces  = regexp.MustCompile(`\{([^{}]*)\}`)   // in a server.json
	dollars = regexp.MustCompile(`\$\{([^{}]*)\}`) // in the manifest of a bundle
)

// values returns what an input stands for; nothing if it is left out.
func (o *Offer) values(ctx context.Context, in input, name string) []string {
	if in.Value == "" {
		return o.ask(ctx, in, cmp.Or(in.ask, name))
	}
	return o.fill(ctx, in.Value, braces, in.Variables)
}

// fill puts values in the places of the references in a template, and escapes the rest. A reference that is all of it
// has any number of values; if another one has none, neither has the whole.
func (o *Offer) fill(ctx context.Context, template string, reference *regexp.Regexp, variables map[string]input) []string {
	text, at := "", 0
	for _, m := range reference.FindAllStringSubmatchIndex(template, -1) {
		name := template[m[2]:m[3]]
		v, known := variables[name]
		if !known {
			continue
		}
		values := o.values(ctx, v, name)
		if m[1]-m[0] == len(template) || len(values) == 0 {
			return values
		}
		text += escape(template[at:m[0]]) + strings.Join(values, ",")
		at = m[1]
	}
	return []string{text + escape(template[at:])}
}

// escape has a text of others stand for itself in an entry: it names no variable, file or secret of the user.
func escape(text string) string { return strings.ReplaceAll(text, "$", "${DOLLAR:-$}") }

// ask returns what the user wants an input to be: as Answers say or, at a terminal, as they type. What they type of a
// secret goes into the keyring. One that is needed and not typed is a variable.
func (o *Offer) ask(ctx context.Context, in input, name string) []string {
	answer, given := o.Answers[name]
	asks := !given && o.Belt.Out.CanAsk()
	text, problem := answer.Reveal(), ""
	for _, asked := o.got[name]; !asked && o.err == nil; _, asked = o.got[name] {
		var err error
		if asks {
			if text, err = o.Belt.Out.AskFor(ctx, problem+in.question(name), in.IsSecret); err != nil {
				o.fail(err)
				break
			}
		}
		values, err := in.check(text, name)
		switch {
		case err == nil && asks && in.IsSecret && text != "":
			o.got[name] = o.secret(name, text)
		case err == nil:
			o.got[name] = values
		case !asks:
			o.fail(cli.UsageError("%s: --answer %s=VALUE", plain.Line(err.Error()), name))
		default:
			problem = plain.Line(err.Error()) + ". "
		}
	}
	return o.got[name]
}

// question asks for an input.
func (in *input) question(name string) string {
	text, without := name, cmp.Or(in.Default, "none")
	if len(in.Choices) > 0 {
		text += ", one of " + strings.Join(in.Choices, ", ")
	}
	if in.IsRepeated {
		text += ", several between commas"
	}
	if in.IsSecret {
		text += ", which goes into the keyring"
	}
	if in.Description != "" {
		text += ": " + in.Description
	}
	if in.IsRequired {
		without = cmp.Or(map[bool]string{true: variable(name)}[in.IsSecret], in.Default, "needed")
	}
	return plain.Line(text+" ["+without+"]") + "\n>"
}

// variable returns the reference to the variable of the environment that stands for a secret.
func variable(name string) string {
	return "${" + strings.ToUpper(regexp.MustCompile(`\W`).ReplaceAllString(name, "_")) + "}"
}

// check returns the values that an answer stands for. Nothing stands for the default, or the variable of a secret.
func (in *input) check(text, name string) ([]string, error) {
	own := text != ""
	switch text = cmp.Or(text, in.Default); {
	case !own && in.IsRequired && in.IsSecret:
		return []string{variable(name)}, nil
	case text == "" && in.IsRequired:
		return nil, errors.New(name + " is needed")
	case text == "":
		return nil, nil
	case len(in.Choices) > 0 && !slices.Contains(in.Choices, text):
		return nil, errors.New(name + " is one of " + strings.Join(in.Choices, ", "))
	case !own || len(in.Choices) > 0:
		text = escape(text)
	}
	if in.IsRepeated {
		return strings.Split(text, ","), nil
	}
	return []string{text}, nil
}

// secret has a secret put into the keyring by [Offer.Keep], and returns the reference to it.
func (o *Offer) secret(name, value string) []string {
	key := regexp.MustCompile(`[^\w./-]`).ReplaceAllString(o.Name+"/"+name, "_")
	o.keep = append(o.keep, func(ctx context.Context) error {
		err := keyringstore.Secrets("").SetSecret(ctx, key, config.Secret(value))
		if err != nil {
			err = &cli.Error{Exit: cli.Failed, Message: err.Error(), Cure: "name a variable in its place: --answer '" + name + "=" + variable(name) + "'", Err: err}
		}
		return err
	})
	return []string{"${keyring:" + key + "}"}
}
