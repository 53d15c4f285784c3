package toolname

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestHasHash(t *testing.T) {
	for name, want := range map[string]bool{
		"a_abcdefghi2": true, "_abcdefghi2": true, "abcdefghi2": false, "a-abcdefghi2": false, "a_bcdefghi2": false,
		"a_abcdefghij": false, "a_abcdefgh12": false, "a_Abcdefghi2": false, "": false,
	} {
		assert.Equal(t, HasHash(name), want, "%q has a hash", name)
	}
}
