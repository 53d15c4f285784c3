//go:build unix

package transporttest_test

import (
	"io"
	"net"
	"sync"
)

// A blackHole stands between a client and a server, and can stop to carry
// anything without saying so, as a network does that loses every packet.
type blackHole struct {
	listener net.Listener
	server   string // address; empty for none at all

	mu    sync.Mutex
	conns []net.Conn
	dark  chan struct{} // closed for the connections so far when they go dark
	wg    sync.WaitGroup
}

func newBlackHole(server string) (*blackHole, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &blackHole{listener: l, server: server, dark: make(chan struct{})}
	b.wg.Go(b.accept)
	return b, nil
}

func (b *blackHole) accept() {
	for {
		near, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.conns = append(b.conns, near)
		dark := b.dark
		b.mu.Unlock()
		if b.server == "" {
			continue
		}
		far, err := net.Dial("tcp", b.server)
		if err != nil {
			_ = near.Close()
			continue
		}
		b.mu.Lock()
		b.conns = append(b.conns, far)
		b.mu.Unlock()
		b.wg.Go(func() { carry(far, near, dark) })
		b.wg.Go(func() { carry(near, far, dark) })
	}
}

// carry copies until it is dark, and then forgets what comes. In the light, the
// end of one side is the end of the other.
func carry(to, from net.Conn, dark <-chan struct{}) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-dark:
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if err == nil {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

// goDark stops all connections so far. Later ones work.
func (b *blackHole) goDark() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.dark)
	b.dark = make(chan struct{})
}

func (b *blackHole) close() {
	_ = b.listener.Close()
	b.mu.Lock()
	for _, c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
}
