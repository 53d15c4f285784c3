package login

// names are what errors call the fields of an [auth.Config] that an entry of a file has set, or
// could set.
func names() map[string]string {
	const place = ` in "auth" of the entry`
	return map[string]string{
		"URL":           `"url" of the entry`,
		"Issuer":        `"issuer"` + place,
		"Client":        `"clientId"` + place + `, beside its "issuer"`,
		"Client.ID":     `"clientId"` + place,
		"Client.Secret": `"clientSecret"` + place,
		"Client.Issuer": `"issuer"` + place,
		"Scopes":        `"scopes"` + place,
		"RedirectURL":   `"redirectUrl"` + place,
		"LoginParams":   `"loginParams"` + place,
		"NoResource":    `"noResource"` + place,
		"Authority":     `"authorizationUrl" and "tokenUrl"` + place,

		"Authority.AuthorizationEndpoint": `"authorizationUrl"` + place,
		"Authority.TokenEndpoint":         `"tokenUrl"` + place,
		"Authority.DeviceEndpoint":        `"deviceUrl"` + place,
		"Client.AuthMethod":               `"authMethod"` + place,
		"Authority.RegistrationEndpoint":  `"registrationUrl"` + place,
		"Authority.RevocationEndpoint":    `"revocationUrl"` + place,

		"Authority.Issuer": `"issuer"` + place,
	}
}
