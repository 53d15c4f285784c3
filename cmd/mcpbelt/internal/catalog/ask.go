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

// end returns the error of inputs that are needed and were not given, or of an argument that was given and is none.
func (a *Asker) end() error {
	if len(a.missing) > 0 {
		return failed(cli.Usage, "give each with --arg NAME=VALUE, -e NAME=VALUE or -H 'Name: value', or add it at a terminal", "it needs to know %s", strings.Join(a.missing, ", "))
	}
	known := slices.Sorted(maps.Keys(a.answers))
	for _, name := range a.Args {
		if !slices.Contains(known, name) {
			return failed(cli.Usage, cli.DidYouMean(name, known, "it has "+cmp.Or(strings.Join(known, ", "), "none")), "it has no argument %q", name)
		}
	}
	return nil
}

// values returns the values of an input, which the user calls by a name; none if it is left out.
func (a *Asker) values(ctx context.Context, name string, in *input) ([]string, error) {
	if !isClean(name + in.Value + in.Default + strings.Join(in.Choices, "")) {
		return nil, failed(cli.Failed, "ask those who publish it", "what is said of %s has characters that cannot be seen, or a reference of another program", plain.Line(name))
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
			var err error
			if answers, err = a.values(ctx, strings.TrimPrefix(name, "user_config."), &one); err != nil {
				return nil, err
			}
		} else if !ok {
			continue // it stands for itself
		}
		if len(answers) == 0 || at[1]-at[0] == len(in.Value) {
			return answers, nil // what has a hole is of no use
		}
		out.WriteString(literal(in.Value[end:at[0]]) + strings.Join(answers, ","))
		end = at[1]
	}
	return []string{out.String() + literal(in.Value[end:])}, nil
}

// answer is values for an input without a value of its own.
func (a *Asker) answer(ctx context.Context, name string, in *input) (values []string, err error) {
	if known, ok := a.answers[name]; ok {
		return known, nil
	}
	defer func() {
		if a.answers[name] = values; len(values) == 0 && in.IsRequired {
			a.missing = append(a.missing, name)
		}
	}()
	defaults := in.defaults
	if in.Default != "" {
		defaults = []string{literal(in.Default)}
	}
	secret := in.IsSecret || mask.IsSecretName(name) && len(defaults) == 0 && len(in.Choices) == 0 && in.Format != "number" && in.Format != "boolean"
	check := func(value string) error {
		switch {
		case secret && !strings.Contains(value, "${"):
			return cli.UsageError("%s is a secret, and is not written into the file: give a reference to a variable, such as '${%s}'", name, variable(name))
		case len(in.Choices) > 0 && !slices.Contains(in.Choices, value):
			return cli.UsageError("%s is one of %s, not %q", name, strings.Join(in.Choices, ", "), value)
		}
		values = append(values, value)
		return nil
	}
	if given := a.Given[name]; given != nil {
		for _, value := range given {
			err = cmp.Or(err, check(value))
		}
		return values, err
	}
	question := plain.Line(name + ": " + in.Description)
	if secret {
		needed := in.IsRequired
		if !needed && a.Out.CanAsk() {
			needed, err = a.Out.Confirm(ctx, question+" (a secret). Is it needed?")
		}
		if !needed || err != nil {
			return nil, err
		}
		reference := variable(name)
		if !in.own {
			reference = a.prefix + reference
		}
		a.Secrets = append(a.Secrets, reference)
		return []string{"${" + reference + "}"}, nil
	}
	if len(in.Choices) > 0 {
		question += " (" + strings.Join(in.Choices, ", ") + ")"
	}
	question += " [" + strings.Join(defaults, ", ") + "]"
	for again := a.Out.CanAsk(); again; again = in.IsRepeated && again {
		line, err := a.Out.Line(ctx, question)
		if again = line != ""; err == nil && again {
			err = check(line)
		}
		if err != nil {
			return nil, err
		}
		question = "one more:"
	}
	if len(values) == 0 {
		values = defaults
	}
	return values, nil
}

// arguments returns the words that a list of arguments stands for, without those that are usual.
func (a *Asker) arguments(ctx context.Context, list []input, usual ...string) (words []string, err error) {
	for i := range list { // of a null there is an input that says nothing
		in := &list[i]
		flag := in.Name != "" && in.Type != "positional"
		if flag && !in.IsRequired && in.Value+in.Default+in.Description == "" && len(in.Choices) == 0 {
			in.Format, in.Value = "boolean", "true" // a flag that has no value
		}
		values, err := a.values(ctx, strings.TrimLeft(cmp.Or(in.Name, in.ValueHint, fmt.Sprint("argument ", i+1)), "-"), in)
		if err != nil {
			return nil, err
		}
		var one []string
		for _, value := range values {
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
	return words, nil
}

// pairs returns variables or headers.
func (a *Asker) pairs(ctx context.Context, list []input, own bool) (map[string]config.Secret, error) {
	pairs := map[string]config.Secret{}
	for _, in := range list {
		in.own = own
		values, err := a.values(ctx, in.Name, &in)
		if err != nil {
			return nil, err
		}
		if len(values) > 0 && in.Name != "" {
			pairs[in.Name] = config.Secret(strings.Join(values, ","))
		}
	}
	return pairs, nil
}
