package content_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

func promptText(t *testing.T, h *host.Host, name string) (string, error) {
	t.Helper()
	res, err := content.New(h).GetPrompt(watchdog(t), name, map[string]string{"who": "me"}, nil)
	if err != nil {
		return "", err
	}
	return res.Messages[0].Content.(*sdk.TextContent).Text, nil
}

// Whatever servers call their prompts, each can be had by the name in the listing,
// and that name depends on nothing else.
func TestPromptsOfAllServers(t *testing.T) {
	long := strings.Repeat("long-", 30)
	own := []string{"review", "a b", "a_b", "a-b", "A_b", "caf\u00e9", "\u202e", "x__y", "__", "_", "p_abcdefgh23", long + "1", long + "2", "b__review", "." + long}
	fill := func(s *sdk.Server) {
		for _, name := range own {
			prompt(name)(s)
		}
	}
	names := []string{"a", "1st", "b_c", strings.Repeat("s", 64), strings.Repeat("s", 63) + "t", "b"}
	all := contents{}
	for _, name := range names {
		all[name] = fill
	}
	h := openContents(t, all, nil, names...)
	l := content.New(h).Prompts(watchdog(t), nil)
	assert.OK(t, l.Err())
	assert.Equal(t, len(l.Items), len(names)*len(own), "prompts")
	seen := map[string]bool{}
	for i, p := range l.Items {
		assert.False(t, seen[p.Name], "%q twice", p.Name)
		assert.True(t, regexp.MustCompile(`^[\w-]{1,64}$`).MatchString(p.Name), "a plain name: %q", p.Name)
		seen[p.Name] = true
		if i%assert.Cases(4, 1) != 0 {
			continue
		}
		assert.Equal(t, assert.Value(promptText(t, h, p.Name))(t), p.Prompt.Name+" for me")
		res := assert.Value(content.New(h).CompletePrompt(watchdog(t), p.Name, mcp.CompleteArgument{Name: "who", Value: "m"}, nil, nil))(t)
		assert.Equal(t, res.Completion.Values[0], fmt.Sprintf("%s %s who=m ", p.Server, p.Prompt.Name))
	}
	assert.True(t, seen["a__review"], "plain names are missing in")
	assert.True(t, seen["b__review"], "plain names are missing in")
}

// Prompts are called as tools are: by the scheme of the registry.
func TestPromptsFollowTheScheme(t *testing.T) {
	for _, test := range []struct {
		listed names.Scheme
		want   string // of the prompt review of github
		wrong  string
		near   string
	}{
		{names.MCPServerTool, "mcp__github__review", "mcp__gitub__review", "mcp__github__review"},
		{names.ColonTool, "github:review", "gitub:review", "github:review"},
		{names.BareTool, "github__review", "github__reviw", "github__review"},
	} {
		long := strings.Repeat("long-", 15)
		all := contents{"github": with(prompt("review"), prompt("a b"), prompt(long), prompt("__")), "b_c": with(prompt("review"), prompt("x_y"))}
		path, opts := write(t, "github", `{"command": "x"}`, "b_c", `{"command": "x"}`), contentsOptions(all)
		opts.Registry = registry.New(&registry.Options{Names: test.listed})
		h := open(t, path, opts)
		l := content.New(h).Prompts(watchdog(t), nil)
		assert.Equal(t, len(l.Items), 6, "%v: prompts", test.listed)
		seen := map[string]bool{}
		for _, p := range l.Items {
			seen[p.Name] = true
			assert.Equal(t, assert.Value(promptText(t, h, p.Name))(t), p.Prompt.Name+" for me")
		}
		assert.True(t, seen[test.want], "prompts")
		_, err := promptText(t, h, test.wrong)

		assert.Equal(t, strings.Join(assert.As[*content.UnknownPromptError](t, err).Suggestions, " "), test.near)
	}
}

func TestUnknownPrompt(t *testing.T) {
	h := openContents(t, contents{"github": with(prompt("review"), prompt("a b")), "later": prompt("p")}, map[string]string{"later": `"lazy": true`}, "github", "later")
	for _, test := range []struct{ name, suggestion string }{
		{"github__reviw", "github__review"},
		{"gitub__review", "github__review"},
		{"githb", "github"},
		{"github__a_b", ""},
		{"github__", ""},
		{"____", ""},
		{"later__p!", ""},
		{"", ""},
		{"nobody__p_abcdefgh23", ""},
		{"github__nothing_like_it_abcdefgh23", ""},
		{"\x1b__\u202e" + strings.Repeat("x", 1000), ""},
	} {
		_, err := promptText(t, h, test.name)
		unknown := assert.As[*content.UnknownPromptError](t, err, "%q", test.name)
		assert.Equal(t, unknown.Name, test.name)
		assert.False(t, mcp.OutcomeOf(err) == mcp.Unknown, "%q: it is unknown whether it was sent", test.name)
		if test.suggestion != "" {
			assert.Equal(t, strings.Join(unknown.Suggestions, " "), test.suggestion, "%q", test.name)
		}
		assert.True(t, len(err.Error()) <= 3000 && !strings.ContainsAny(err.Error(), "\x1b\u202e"), "can be shown: %q", err)
	}
	assert.Equal(t, status(t, h, "later").State.Phase, mcp.Idle, "a name that cannot be started a lazy server: it")
	assert.Equal(t, assert.Value(promptText(t, h, "later__p"))(t), "p for me")
}

// A prompt that is there and refuses its arguments is not unknown.
func TestPromptThatRefuses(t *testing.T) {
	h := openContents(t, contents{"s": func(s *sdk.Server) {
		s.AddPrompt(&sdk.Prompt{Name: "p"}, nil)
		prompt("q")(s)
		s.AddReceivingMiddleware(refuse)
	}}, nil, "s")
	_, err := promptText(t, h, "s__q")
	var unknown *content.UnknownPromptError

	assert.As[*mcp.ServerError](t, err)
	assert.False(t, errors.As(err, &unknown), "as")
}
