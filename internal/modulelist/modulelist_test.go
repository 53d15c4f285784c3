package modulelist_test

import (
	"slices"
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
	if want := []string{".", "a/b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q and the error %v, want %q", got, err, want)
	}
	if _, err := modulelist.Read(fstest.MapFS{}); err == nil {
		t.Error("without the file: got no error")
	}
}

func TestHolder(t *testing.T) {
	modules := []string{".", "a", "a/b", "ab"}
	for folder, want := range map[string]string{".": ".", "x": ".", "a": "a", "a/x": "a", "a/b": "a/b", "a/b/c": "a/b", "a/bc": "a", "ab/c": "ab"} {
		assert.Equal(t, modulelist.Holder(modules, folder), want, "Holder of %s", folder)
	}
}
