package transport

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// PublicOnly is a Control of [net.Dialer] that refuses all addresses that are not of the public internet: for
// programs that connect to what their users enter. Private networks, this machine, metadata services of clouds and
// addresses that lead to one of these by another are refused.
func PublicOnly(_, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !guardhttp.Public(at.Addr()) {
		return fmt.Errorf("transport: %q is not a public address", address)
	}
	return nil
}
