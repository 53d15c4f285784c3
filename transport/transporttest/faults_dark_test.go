//go:build unix

package transporttest_test

import (
	"net"
	"sync"
)

// A darkListener can stop to carry anything without saying so, as a network does that
// loses every packet.
type darkListener struct {
	net.Listener
	mu   sync.Mutex
	dark chan struct{} // closed for the connections so far when they go dark
}

func (l *darkListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	l.mu.Lock()
	defer l.mu.Unlock()
	return &darkConn{c, l.dark}, err
}

// goDark stops all connections so far. Later ones work.
func (l *darkListener) goDark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.dark)
	l.dark = make(chan struct{})
}

// A darkConn loses what it carries when it is dark.
type darkConn struct {
	net.Conn
	dark <-chan struct{}
}

func (c *darkConn) isDark() bool {
	select {
	case <-c.dark:
		return true
	default:
		return false
	}
}

func (c *darkConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if !c.isDark() || err != nil {
			return n, err
		}
	}
}

func (c *darkConn) Write(p []byte) (int, error) {
	if c.isDark() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
