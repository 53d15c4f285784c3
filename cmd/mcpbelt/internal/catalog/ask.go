package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An input is an argument, variable or header, or what a value refers to by its name in braces.
type input struct {
	Type, Name, ValueHint, Format, Description string
	Value, Default                             string // Value is not to be chosen
	IsRequired, IsSecret, IsRepeated           bool
	Choices                                    []string
	Variables                                  map[string]*input
	defaults                                   []string // as they are written, in place of Default
	own                                        bool     // its secret is in the variable of its name
}

// An Asker says what inputs are: what was given on the command line or else, at a terminal, what the
// user answers. Secrets are not asked for: they become references to variables of the environment.
type Asker struct {
	Out       *cli.Out
	Given     map[string][]string // values by the names of inputs; those of arguments without dashes before them
	Args, Env []string            // those of Given that have to be inputs, and those that are variables
	Secrets   []string            // the variables that the entry refers to

	prefix    string // of such variables
	reference *regexp.Regexp
	variables map[string]*input   // what values may refer to
	fixed     map[string]string   // likewise, and is known
	answers   map[string][]string // by name; each is asked for once
	missing   []string
	err       error // the first one, after which nothing is asked
}

var (
	curly    = regexp.MustCompile(`\{([^{}]*)\}`)
	mustache = regexp.MustCompile(`\$\{([^{}]*)\}`)
	noName   = regexp.MustCompile(`[^A-Z0-9]+`)
)

// begin makes the asker ready for one server.
func (a *Asker) begin(server string, reference *regexp.Regexp, inputs ...input) {
	a.prefix, a.reference, a.variables, a.answers = variable(server)+"_", reference, map[string]*input{}, map[string][]string{}
	for _, in := range inputs {
		maps.Copy(a.variables, in.Variables) // one that another argument has declared is meant, too
	}
}

// variable returns the name of a variable of the environment that is like a text.
func variable(text string) string {
	return strings.Trim(noName.ReplaceAllString(strings.ToUpper(text), "_"), "_")
}

// end returns what was wrong, or the error of inputs that were not given, or of an argument that was given and is none.
func (a *Asker) end() error {
	if len(a.missing) > 0 && a.err == nil {
		return failed(cli.Usage, "give each with --arg NAME=VALUE, -e NAME=VALUE or -H 'Name: value', or add it at a terminal", "it needs to know %s", strings.Join(a.missing, ", "))
	}
	known := slices.Sorted(maps.Keys(a.answers))
	for _, name := range a.Args {
		if !slices.Contains(known, name) && a.err == nil {
			return failed(cli.Usage, cli.DidYouMean(name, known, "it has "+cmp.Or(strings.Join(known, ", "), "none")), "it has no argument %q", name)
		}
	}
	return a.err
}

// values returns the values of an input, which the user calls by a name; none if it is left out.
func (a *Asker) values(ctx context.Context, name string, in *input) []string {
	if !isClean(name+in.Value+in.Default+strings.Join(in.Choices, "")) && a.err == nil {
		a.err = failed(cli.Failed, "ask those who publish it", "what is said of %s has characters that cannot be seen, or a reference of another program", plain.Line(name))
	}
	if in.Value == "" {
		return a.answer(ctx, name, in)
	}
	var out strings.Builder
	end := 0
	for _, at := range a.reference.FindAllStringSubmatchIndex(in.Value, -1) {
		name := in.Value[at[2]:at[3]]
		fixed, ok := a.fixed[name]
		answers := []string{literal(fixed)}
		if known := a.variables[name]; known != nil {
			one := *known
			one.IsRequired = one.IsRequired || in.IsRequired
			answers = a.values(ctx, strings.TrimPrefix(name, "user_config."), &one)
		} else if !ok {
			continue // it stands for itself
		}
		if len(answers) == 0 || at[1]-at[0] == len(in.Value) {
			return answers // what has a hole is of no use
		}
		out.WriteString(literal(in.Value[end:at[0]]) + strings.Join(answers, ","))
		end = at[1]
	}
	return []string{out.String() + literal(in.Value[end:])}
}

// answer is values for an input without a value of its own.
func (a *Asker) answer(ctx context.Context, name string, in *input) []string {
	values, known := a.answers[name]
	if known || a.err != nil {
		return values
	}
	defaults := in.defaults
	if in.Default != "" {
		defaults = []string{literal(in.Default)}
	}
	choices := in.Choices
	if in.Format == "boolean" {
		choices = []string{"true", "false"}
	}
	question := plain.Line(name + ": " + in.Description)
	secret := in.IsSecret || mask.IsSecretName(name) && len(defaults) == 0 && len(choices) == 0 && in.Format != "number"
	values = a.Given[name]
	switch {
	case values != nil:
	case secret:
		reference, needed := variable(name), in.IsRequired
		if !in.own {
			reference = a.prefix + reference
		}
		if !needed && a.Out.CanAsk() {
			needed, a.err = a.Out.Confirm(ctx, question+" (a secret). Is it needed?")
		}
		if needed {
			a.Secrets, values = append(a.Secrets, reference), []string{"${" + reference + "}"}
		}
	default:
		if len(choices) > 0 {
			question += " (" + strings.Join(choices, ", ") + ")"
		}
		question += " [" + strings.Join(defaults, ", ") + "]"
		for again := a.Out.CanAsk(); again; question = "one more:" {
			var line string
			if line, a.err = a.Out.Line(ctx, question); line != "" {
				values = append(values, line)
			}
			again = in.IsRepeated && line != "" && a.err == nil
		}
	}
	for _, value := range values {
		switch {
		case secret && !strings.Contains(value, "${"):
			a.err = cli.UsageError("%s is a secret, and is not written into the file: give a reference to a variable, such as '${%s}'", name, variable(name))
		case len(choices) > 0 && !slices.Contains(choices, value):
			a.err = cli.UsageError("%s is one of %s, not %q", name, strings.Join(choices, ", "), value)
		}
	}
	if values == nil && !secret {
		values = defaults
	}
	if len(values) == 0 && in.IsRequired {
		a.missing = append(a.missing, name)
	}
	a.answers[name] = values
	return values
}

// arguments returns the words that a list of arguments stands for, without those that are usual.
func (a *Asker) arguments(ctx context.Context, list []input, usual ...string) (words []string) {
	for i := range list { // of a null there is an input that says nothing
		in := &list[i]
		flag := in.Name != "" && in.Type != "positional"
		if flag && !in.IsRequired && in.Value+in.Default+in.Description == "" && len(in.Choices) == 0 {
			in.Format, in.Value = "boolean", "true" // a flag that has no value
		}
		var one []string
		for _, value := range a.values(ctx, strings.TrimLeft(cmp.Or(in.Name, in.ValueHint, fmt.Sprint("argument ", i+1)), "-"), in) {
			if flag && (in.Format != "boolean" || value == "true") {
				one = append(one, literal(in.Name))
			}
			if !flag || in.Format != "boolean" {
				one = append(one, value)
			}
		}
		if len(one) != 1 || !slices.Contains(usual, one[0]) {
			words = append(words, one...)
		}
	}
	return words
}

// pairs returns variables or headers.
func (a *Asker) pairs(ctx context.Context, list []input, own bool) map[string]config.Secret {
	pairs := map[string]config.Secret{}
	for _, in := range list {
		in.own = own
		if values := a.values(ctx, in.Name, &in); len(values) > 0 && in.Name != "" {
			pairs[in.Name] = config.Secret(strings.Join(values, ","))
		}
	}
	return pairs
}
