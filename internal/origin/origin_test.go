package origin

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSocketsFollowTheSettings: sockets are shared as long as the settings, and the files
// that these were read from, say the same.
func TestSocketsFollowTheSettings(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusting := func() *tls.Config { // as it is read anew for each client
		pool := x509.NewCertPool()
		pool.AddCert(server.Certificate())
		return &tls.Config{RootCAs: pool}
	}
	own := func() *tls.Config {
		settings := trusting()
		settings.Certificates = server.TLS.Certificates
		return settings
	}
	var o Origin
	open := func() *http.Transport { return &http.Transport{} }
	before := o.Sockets("", nil, open)
	for _, c := range []struct {
		name, proxy string
		settings    *tls.Config
		same        bool
	}{
		{"again", "", nil, true},
		{"an authority", "", trusting(), false},
		{"the same authority", "", trusting(), true},
		{"a certificate", "", own(), false},
		{"the same certificate", "", own(), true},
		{"no check", "", &tls.Config{InsecureSkipVerify: true}, false},
		{"a proxy", "http://127.0.0.1:1", &tls.Config{InsecureSkipVerify: true}, false},
		{"the same proxy", "http://127.0.0.1:1", &tls.Config{InsecureSkipVerify: true}, true},
		{"neither", "", nil, false},
	} {
		now := o.Sockets(c.proxy, c.settings, open)
		assert.Equal(t, now == before, c.same, "%s: the same sockets", c.name)
		before = now
	}
	o.End()
	assert.Equal(t, o.Sockets("", nil, open), nil, "sockets after the end")
}

// TestEndClosesSockets leaves connections open that were used with former settings.
func TestEndClosesSockets(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var o Origin
	for _, proxy := range []string{"", "of another name"} {
		client := http.Client{Transport: o.Sockets(proxy, nil, func() *http.Transport { return &http.Transport{} })}
		assert.OK(t, assert.Value(client.Get(server.URL))(t).Body.Close())
	}
	o.End() // or goleak finds them
}

func TestNilOriginSharesNothing(t *testing.T) {
	var o *Origin
	assert.Equal(t, o.Sockets("", nil, nil), nil, "sockets")
}
