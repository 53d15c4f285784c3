package tools

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A loss is what a provider does not get of a tool, in the output of lint and why.
type loss struct {
	Server   string           `json:"server"`
	Tool     string           `json:"tool"`
	Provider profile.Provider `json:"provider"`
	Effect   string           `json:"effect"`         // that of a profile.Loss, or rejected
	Path     string           `json:"path,omitempty"` // JSON pointer into the input schema
	Detail   string           `json:"detail"`
}

const effectRejected = "rejected"

// matters reports whether calls go wrong that would be right, or the other way round.
func (l *loss) matters() bool {
	return l.Effect == effectRejected || l.Effect == string(profile.Looser) || l.Effect == string(profile.Narrower)
}

// providers returns those that lint and why look at.
func providers() []profile.Provider {
	return []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.Bedrock, profile.Ollama}
}

func lintCommand(b *belt.Belt) *cobra.Command {
	var chosen []string
	var all, strict bool
	cmd := &cobra.Command{
		Use: "lint",
		RunE: b.WithServers(func(cmd *cobra.Command, c *belt.Catalog, servers []*config.Server, named bool) error {
			var wanted []profile.Provider
			for _, name := range chosen {
				if !slices.Contains(providers(), profile.Provider(name)) {
					return cli.UsageError("there is no provider %q: it is one of %s", name, providerNames())
				}
				wanted = append(wanted, profile.Provider(name))
			}
			if wanted == nil {
				wanted = providers()
			}
			offers, err := b.Offers(cmd.Context(), c, servers...)
			if err != nil {
				return err
			}
			losses := []*loss{}
			var failed []error
			for i, s := range servers {
				losses = append(losses, lossesOf(s.Name, offers[i].Tools, wanted)...)
				failed = append(failed, offers[i].Err)
			}
			if !all {
				losses = slices.DeleteFunc(losses, func(l *loss) bool { return !l.matters() })
			}
			t := &cli.Table{Headings: []string{"SERVER", "TOOL", "PROVIDER", "EFFECT", "WHERE", "WHAT"}, Empty: "Nothing is lost."}
			for _, l := range losses {
				t.Add(l.Server, l.Tool, string(l.Provider), l.Effect, l.Path, l.Detail)
			}
			if err := b.Out.Found(t, map[string]any{"losses": losses}); err != nil {
				return err
			}
			if err := b.Failed(failed, named); err != nil {
				return err
			}
			bad := 0
			for _, l := range losses {
				if l.Effect == effectRejected || strict && l.matters() {
					bad++
				}
			}
			if bad > 0 {
				return &cli.Error{Exit: cli.Unhealthy, Message: strconv.Itoa(bad) + " losses", Shown: true}
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&chosen, "provider", nil, "look at this `provider` alone; can be repeated: "+providerNames())
	f.BoolVar(&all, "all", false, "show also what changes nothing for calls")
	f.BoolVar(&strict, "strict", false, "fail if anything is lost that matters")
	cli.FixedFlag(cmd, "provider", strings.Split(providerNames(), ", ")...)
	return cmd
}

func providerNames() string {
	var names []string
	for _, p := range providers() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// lossesOf returns what the providers do not get of tools.
func lossesOf(server string, tools []registry.Tool, wanted []profile.Provider) []*loss {
	var losses []*loss
	for _, p := range wanted {
		set, err := profile.Compile(p, tools, nil)
		if err != nil {
			continue // only an unknown provider
		}
		for _, r := range set.Rejected() {
			losses = append(losses, &loss{Server: server, Tool: r.Definition.Origin.Tool, Provider: p, Effect: effectRejected, Detail: r.Err.Error()})
		}
		for _, t := range set.Tools() {
			for _, l := range t.Losses {
				losses = append(losses, &loss{server, t.Definition.Origin.Tool, p, string(l.Effect), l.Path, l.Detail})
			}
		}
	}
	return losses
}
