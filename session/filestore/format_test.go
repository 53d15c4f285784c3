package filestore

import (
	"encoding/hex"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What earlier versions wrote has to be read for ever: this must not change.
const writtenByVersion1 = "6d6266730101550fb296a4f8eae58dac12a0768aba8c0c616c6963652e676974687562000000067365616c6564ed88b4decf4ec4ceaf4534f9877e26a660d1920c66ac2c3cc247c803cdcc49f9"

func TestFormatStays(t *testing.T) {
	raw := assert.Value(hex.DecodeString(writtenByVersion1))(t)
	f := openTest(t, t.TempDir())
	save(t, f, "alice.github", "x", "")
	hurt(t, onDisk(f, "alice.github"), raw)
	assert.Equal(t, expect(t, f, "alice.github", "sealed"), "550fb296a4f8eae58dac12a0768aba8c", "the revision")
	assert.Equal(t, file("alice.github"), "records/d0/0,alice.github", "file")
}
