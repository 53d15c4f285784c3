package modulelist_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRead(t *testing.T) {
	text := "# folder, what it is for\n.\tthe core\n\na/b\tit has an SDK # a large one\n"
	got, err := modulelist.Read(fstest.MapFS{"allmodules": {Data: []byte(text)}})
	assert.OK(t, err)
	assert.Equal(t, fmt.Sprintf("%q", got), `["." "a/b"]`)
	assert.Fails(t, assert.Err(modulelist.Read(fstest.MapFS{})), "without the file")
}

func TestHolder(t *testing.T) {
	modules := []string{".", "a", "a/b", "ab"}
	for folder, want := range map[string]string{".": ".", "x": ".", "a": "a", "a/x": "a", "a/b": "a/b", "a/b/c": "a/b", "a/bc": "a", "ab/c": "ab"} {
		assert.Equal(t, modulelist.Holder(modules, folder), want, "Holder of %s", folder)
	}
}
