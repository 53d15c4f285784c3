package gateway

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The requests of a session that are under way are bounded; one that has ended makes room.
func TestRequestsUnderWay(t *testing.T) {
	s := &clientSession{}
	enter := func(i int) bool {
		_, failed := s.enter(json.RawMessage(strconv.Itoa(i)))
		return failed == nil
	}
	enter(0)
	for i := 1; i < maxUnderWay; i++ {
		assert.True(t, enter(i), "room for request %d", i)
	}
	ok := enter(maxUnderWay)
	assert.False(t, ok, "room for more")
	s.leave(json.RawMessage("0"))
	ok = enter(maxUnderWay)
	assert.True(t, ok, "room after one has ended")
}
