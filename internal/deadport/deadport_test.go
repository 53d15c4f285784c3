package deadport_test

import (
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/deadport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestURL(t *testing.T) {
	address := strings.TrimPrefix(deadport.URL(t), "http://")
	if c, err := net.Dial("tcp", address); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("dialled %v, %v", c, err)
	}
	if l, err := net.Listen("tcp", address); err == nil {
		_ = l.Close()
		t.Error("somebody can listen there")
	}
}
