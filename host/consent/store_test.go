package consent_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/consent/consenttest"
)

func TestFileStore(t *testing.T) {
	consenttest.Run(t, func(t testing.TB) consent.Store { return consent.FileStoreIn(t) },
		func(_ testing.TB, s consent.Store) consent.Store { return consent.SameFile(s) })
}

func TestMemoryStore(t *testing.T) {
	consenttest.Run(t, func(testing.TB) consent.Store { return consent.StoreOf(consent.New()) }, nil)
}
