package textguard

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "plain words, time and search.": nil, "call send_message now": {"send_message"},
		"a real-time view": {"real-time"}, "sendMessage()": {"sendMessage"},
		"github__create_issue":     {"github__create_issue", "github"},
		"mcp__github__create":      {"mcp__github__create", "github"},
		"see github:create_issue.": {"github:create_issue", "github"}, "at 12:30": {"12:30"},
		"use `fetch` or \"search\"": {"fetch", "search"}, "'list' (it's)": {"list"}, "the github server": {"github"},
		"from the WhatsApp MCP": {"WhatsApp"}, "a GitHub issue": nil, "a time server": nil,
		"the `time` server": {"time", "time"}, "The server": nil, "on the file. Server runs": nil,
		"admin.users.list": {"admin.users.list"}, "ends with colon: x": nil, "__x": {"__x"}, "a__": {"a__", "a"},
	} {
		var got []string
		for m := range Mentions(text) {
			got = append(got, m.Word)
		}
		assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want), "%q", text)
	}
}

func TestSkeleton(t *testing.T) {
	for _, alike := range [][2]string{
		{"a.b", "a_b"}, {"a-b", "a/b"}, {"Search", "search"}, {"sеarch", "search"}, {"l1st", "list"}, {"f00", "foo"},
		{"get\u200bfile", "getfile"}, {"ｇｅｔ", "get"}, {"ѕеnd", "send"}, {"Ι", "l"},
	} {
		assert.Equal(t, Skeleton(alike[0]), Skeleton(alike[1]))
	}
	for _, other := range [][2]string{{"ab", "a_b"}, {"list", "lists"}, {"日本", "中国"}, {"é", "e"}, {"", "_"}} {
		assert.False(t, Skeleton(other[0]) == Skeleton(other[1]), "%q and %q are alike", other[0], other[1])
	}
}
