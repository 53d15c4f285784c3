package gateway

// SetMaxWaiting bounds the bytes of answers that wait for a client.
func (g *Gateway) SetMaxWaiting(n int) { g.maxWaiting = n }
