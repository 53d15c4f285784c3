package listing_test

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/listing"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The pages of a list have each item once, and a cursor is one of its list alone.
func TestPage(t *testing.T) {
	items := []json.RawMessage{[]byte(`{"a":1}`), []byte(`{"b":"` + strings.Repeat("x", 100) + `"}`), []byte(`{"c":3}`), []byte(`{"d":4}`)}
	seed, got := maphash.MakeSeed(), []string(nil)
	cursor, first, pages := "", "", 0
	for {
		raw := assert.Value(listing.Page("tools", items, seed, cursor, 40))(t)
		var page struct {
			Tools []json.RawMessage
			Next  string `json:"nextCursor"`
		}
		assert.OK(t, json.Unmarshal(raw, &page))
		for _, item := range page.Tools {
			got = append(got, string(item))
		}
		pages++
		if cursor = page.Next; first == "" {
			first = cursor
		}
		if cursor == "" {
			break
		}
	}
	assert.Equal(t, fmt.Sprint(got), fmt.Sprintf("%s", items))
	assert.Equal(t, pages, 3, "pages")
	for _, cursor := range []string{"x", "!", first + "A"} {
		assert.Fails(t, assert.Err(listing.Page("tools", items, seed, cursor, 40)), "the cursor %q", cursor)
	}
	assert.Contains(t, fmt.Sprint(assert.Err(listing.Page("tools", items[1:], seed, first, 40))), "has changed", "the cursor of another list")
}

func TestName(t *testing.T) {
	long := strings.Repeat("a", 70)
	for _, c := range []struct {
		name       string
		room, want int
	}{{"short", 53, 5}, {long, 53, 53}, {long, 64, 64}, {long, 1, 24}, {strings.Repeat("a", 53), 53, 53}} {
		assert.Equal(t, len(listing.Name(c.name, c.room)), c.want, "%d bytes in a room of %d", len(c.name), c.room)
	}
	assert.False(t, listing.Name(long+"1", 53) == listing.Name(long+"2", 53), "two tools have one name")
}
