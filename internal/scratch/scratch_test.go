package scratch_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/scratch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What was read stays as it is when the memory is used again.
func TestReadAll(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{0, 1, 100_000, 1<<20 + 1, 20 << 20} {
		text := bytes.Repeat([]byte{'x'}, size)
		got, err := scratch.ReadAll(io.MultiReader(bytes.NewReader(text), iotest.ErrReader(broken)), int64(size))
		assert.Is(t, err, broken)
		other, err := scratch.ReadAll(bytes.NewReader(bytes.Repeat([]byte{'y'}, size)), 1<<60)
		assert.OK(t, err)
		taken := scratch.Get(0)
		_ = append(taken, make([]byte, cap(taken))...)
		assert.True(t, bytes.Equal(got, text) && !bytes.Contains(other, []byte{'x'}), "%d bytes: they stay", size)
		assert.Equal(t, len(other), size, "the other bytes")
		scratch.Put(taken)
	}
}
