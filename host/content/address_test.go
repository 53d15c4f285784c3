package content_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func TestAddresses(t *testing.T) {
	for _, server := range []string{"github", "a", "1-password", "A_b-C", "a_", strings.Repeat("x", 64)} {
		for _, uri := range []string{
			"file:///x?y#z", "file:///a//b/../c%2f%2F", "urn:isbn:1", "x", "://", "other://file:///x", "a://b://c", " ", "\x00\xff",
			"file:///caf\u00e9/\u202e\u200b", "HTTP://EXAMPLE.com:80/", "x:{a}{?b*}", strings.Repeat("://", 1000),
		} {
			address := content.Address(server, uri)
			gotServer, gotURI, err := content.ParseAddress(address)
			if err != nil || gotServer != server || gotURI != uri || !strings.HasPrefix(address, server+"://") {
				t.Errorf("%q, %q: %q parsed as %q, %q, %v", server, uri, address, gotServer, gotURI, err)
			}
		}
	}
	for _, address := range []string{"", "x", "github:x", "github:/x", "://x", "github://", "git hub://x", "git.hub://x", "caf\u00e9://x", strings.Repeat("x", 65) + "://x"} {

		_, _, err := content.ParseAddress(address)
		wrong := assert.As[*content.AddressError](t, err)
		assert.Equal(t, wrong.Address, address)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("github://file:///x?y#z")
	f.Add("://")
	f.Fuzz(func(t *testing.T, address string) {
		server, uri, err := content.ParseAddress(address)
		if err != nil {
			if len(err.Error()) > 10_000 || strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
				t.Errorf("%q", err)
			}
			return
		}
		assert.Equal(t, content.Address(server, uri), address)
	})
}

func TestUnknownAddress(t *testing.T) {
	h := openContents(t, contents{"github": resource("file:///x")}, nil, "github")
	_, err := content.New(h).ReadResource(watchdog(t), "Gitub://file:///x", nil)
	var wrong *content.AddressError
	var unknown *host.UnknownServerError
	if !errors.As(err, &wrong) || !errors.As(err, &unknown) || len(wrong.Suggestions) != 1 || wrong.Suggestions[0] != "github://file:///x" {
		t.Fatalf("%v", err)
	}
	assert.Contains(t, fmt.Sprint(err), `did you mean "github://file:///x"?`)
	if _, err = content.New(h).ReadResource(watchdog(t), "file:///x", nil); !errors.As(err, &wrong) || len(wrong.Suggestions) != 0 {
		t.Errorf("%v", err)
	}
	if _, err = content.New(h).ReadResource(watchdog(t), "github://file:///y", nil); !errors.Is(err, mcp.ErrResourceNotFound) {
		t.Errorf("%v", err)
	}
}
