package replica

import "net/http"

// SetProxy has the member reach others by t.
func (m *Member) SetProxy(t http.RoundTripper) { m.proxy = t }
