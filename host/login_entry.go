package host

import (
	"net/url"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// configureLogin sets how users log in, as an entry says.
func configureLogin(a *config.Auth, c *auth.Config) {
	if a.Grant == config.GrantDeviceCode {
		c.Grant = auth.DeviceCode
	}
	c.AskConsent = a.AskConsent
	for name, value := range a.LoginParams {
		if c.LoginParams == nil {
			c.LoginParams = url.Values{}
		}
		c.LoginParams.Set(name, value)
	}
	if a.TokenURL != "" {
		c.Authority = &auth.Authority{Issuer: a.Issuer,
			AuthorizationEndpoint: a.AuthorizationURL, TokenEndpoint: a.TokenURL, DeviceEndpoint: a.DeviceURL}
	}
}
