package guardhttp

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
