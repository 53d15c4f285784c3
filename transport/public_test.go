package transport_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestPublicOnly(t *testing.T) {
	for address, refused := range map[string]bool{
		"93.184.216.34:443": false, "[2606:2800:220:1::1]:443": false, "[64:ff9b::5db8:d822]:443": false,
		"127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1:80": true, "169.254.169.254:80": true, "[::ffff:10.0.0.1]:80": true, "0.0.0.0:80": true,
		"100.64.0.1:80": true, "168.63.129.16:80": true, "192.0.2.1:80": true, "198.18.0.1:80": true, "240.0.0.1:80": true,
		"[fe80::1%eth0]:80": true, "[fd00::1]:80": true, "[64:ff9b::a00:1]:80": true, "[2002:a00:1::]:80": true, "[::]:80": true,
		"/run/docker.sock": true, "example.com:80": true,
	} {
		assert.Equal(t, transport.PublicOnly("tcp", address, nil) != nil, refused, "%s", address)
	}
}
