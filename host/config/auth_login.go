package config

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// ownParams are the parameters of a login that this library sets itself.
func ownParams() []string {
	return []string{"", "response_type", "response_mode", "client_id", "redirect_uri", "state", "code_challenge",
		"code_challenge_method", "scope", "resource", "dpop_jkt", "request", "request_uri"}
}

func (e *entry) loginParams(n *jsonc.Node, at jsonc.Path) map[string]string {
	if !e.check(n, at, jsonc.Object) || len(n.Members) == 0 {
		return nil
	}
	params := make(map[string]string, len(n.Members))
	for i := range n.Members {
		m := &n.Members[i]
		at := at.Key(m.Key)
		if slices.Contains(ownParams(), m.Key) {
			e.fail(m.Offset, at, "is a parameter that is set otherwise: remove it")
			continue
		}
		params[m.Key] = e.visible(&m.Value, at)
	}
	return params
}

// checkLogin notes what is missing of a login whose endpoints are given.
func (e *entry) checkLogin(f *dialect.Field, a *Auth) {
	device := a.Grant == "device_code"
	switch {
	case a.TokenURL == "" && (a.AuthorizationURL != "" || a.DeviceURL != ""):
		e.fail(f.Offset, f.At, "says where a login begins without \"tokenUrl\": add it, or remove both to have them looked up")
	case a.TokenURL != "" && device && a.DeviceURL == "":
		e.fail(f.Offset, f.At, "has a \"tokenUrl\" without \"deviceUrl\": add it, or remove the former to have both looked up")
	case a.TokenURL != "" && !device && a.AuthorizationURL == "":
		e.fail(f.Offset, f.At, "has a \"tokenUrl\" without \"authorizationUrl\": add it, or remove the former to have both looked up")
	case device && len(a.LoginParams) > 0:
		e.fail(f.Offset, f.At, "has \"loginParams\", which a login by device_code has no place for: remove them")
	}
}
