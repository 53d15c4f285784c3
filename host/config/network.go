package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
)

// ProxyFunc returns the proxy of the entry for a transport, nil if it names none.
func (e *Server) ProxyFunc() func(*http.Request) (*url.URL, error) {
	if e.Proxy == "" {
		return nil
	}
	proxy, err := url.Parse(e.Proxy)
	if err != nil {
		err = errors.New("the proxy of the entry is not a URL") // err quotes it
	}
	return func(*http.Request) (*url.URL, error) { return proxy, err }
}

// TLSConfig returns the TLS configuration of the entry, nil if it says nothing. For logins it
// has the authorities only: what is shown to the server, or not checked of it, is not
// meant for whomever it names.
func (e *Server) TLSConfig(login bool) (*tls.Config, error) {
	t := e.TLS
	if t == nil {
		return nil, nil
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.caFile: %w", err)
		}
		if settings.RootCAs, err = x509.SystemCertPool(); err != nil {
			settings.RootCAs = x509.NewCertPool()
		}
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.caFile: %s holds no certificate in PEM", t.CAFile)
		}
	}
	if login {
		return settings, nil
	}
	if t.CertFile != "" {
		own, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls.certFile: %w", err)
		}
		settings.Certificates = []tls.Certificate{own}
	}
	settings.InsecureSkipVerify = t.Insecure
	return settings, nil
}
