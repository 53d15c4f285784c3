package rest

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// namesOf returns a resolver by which each name has one address of version 4: the
// next one at each question, and the last one from then on.
func namesOf(t testing.TB, addrs ...string) *net.Resolver {
	pc := assert.Value(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	var served sync.WaitGroup
	served.Go(func() {
		query := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(query)
			if err != nil {
				return
			}
			end := 12 // RFC 1035, section 4.1
			for query[end] != 0 {
				end += 1 + int(query[end])
			}
			end += 5
			reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:min(end, n)]...)
			if binary.BigEndian.Uint16(query[end-4:]) == 1 {
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				reply = append(reply, netip.MustParseAddr(addrs[0]).AsSlice()...)
				addrs = addrs[min(1, len(addrs)-1):]
			}
			_, _ = pc.WriteTo(reply, from)
		}
	})
	t.Cleanup(func() { _ = pc.Close(); served.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}
