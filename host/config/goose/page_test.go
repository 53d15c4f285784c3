package goose

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config/configtest"
)

// TestConfigurationPage holds the tables of docs/configuration.md against what is read and
// written. With -update it writes them.
func TestConfigurationPage(t *testing.T) {
	configtest.CheckPage(t, "../../../docs/configuration.md", "goose", *update, Format(), Continue())
}
