package seal

import (
	"encoding/hex"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What was sealed by earlier versions has to open for ever: these must not change.
const (
	sealedByVersion1 = "6d62737301117a1971eb74d77d000000000000000700ce30117e220498de5e2d8b7d95b5b7cf61e68d1c559af27feca98f5230d8e08772f1a467b86c472c0d6aa0607c587e7830"
	keyOfPassphrase  = "e1b443fafbe383d9053bc754cdba0abf862f5179e6221e66fdce5c7ff3d086ad"
)

func TestFormatStays(t *testing.T) {
	sealed := assert.Value(hex.DecodeString(sealedByVersion1))(t)
	o := assert.Value(newKeyset(&Keys{Current: testKey("k")}).open(forRecord, "alice.github", sealed))(t)
	assert.Equal(t, [...]any{string(o.data), o.generation}, [...]any{"a session", uint64(7)}, "a record of version 1")
	keys := assert.Value(KeyPassphrase("correct horse")(t.Context(), []byte("0123456789abcdef0123456789abcdef")))(t)
	assert.Equal(t, hex.EncodeToString([]byte(keys.Current.Reveal())), keyOfPassphrase, "the passphrase makes key")
}
