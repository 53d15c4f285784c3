package authtest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const grantDevice = "urn:ietf:params:oauth:grant-type:device_code"

// deviceLifetime is how long the user has to type the code.
const deviceLifetime = 10 * time.Minute

// A device is a login by device code that was begun.
type device struct {
	login    *family
	userCode string
	expires  time.Time
	interval time.Duration
	polled   time.Time
	decision string // empty until the user has decided
	used     bool
}

// serveDevice begins a login by device code.
func (s *Server) serveDevice(w http.ResponseWriter, r *http.Request) error {
	form, err := s.form(r)
	if err != nil {
		return err
	}
	c, err := s.authenticate(r, form)
	if err == nil {
		err = c.mayUse(grantDevice)
	}
	if err == nil {
		err = s.checkResource(form)
	}
	scopes := strings.Fields(form.Get("scope"))
	if err == nil {
		err = s.checkScopes(scopes)
	}
	if err != nil {
		return err
	}
	text := "device-" + rand.Text()
	random := rand.Text()
	d := &device{
		login:    &family{Family: Family{ClientID: c.ID, Resource: form.Get("resource"), Scopes: scopes}},
		userCode: random[:4] + "-" + random[4:8],
		expires:  time.Now().Add(deviceLifetime),
		interval: s.options.Device,
	}
	s.keep(text)
	s.mu.Lock()
	s.devices[text] = d
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{
		"device_code":               text,
		"user_code":                 d.userCode,
		"verification_uri":          s.Issuer + "/device",
		"verification_uri_complete": s.Issuer + "/device" + "?" + url.Values{"user_code": {d.userCode}}.Encode(),
		"expires_in":                int(deviceLifetime.Seconds()),
		"interval":                  int(s.options.Device.Seconds()),
	})
	return nil
}

// exchangeDevice answers a poll (RFC 8628, section 3.5).
func (s *Server) exchangeDevice(c *client, form url.Values, thumb string) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.devices[form.Get("device_code")]
	switch {
	case d == nil || d.login.ClientID != c.ID || d.used:
		return nil, refusef("invalid_grant", "the device code is not known, or was used")
	case time.Now().After(d.expires):
		return nil, refusef("expired_token", "the user did not come in time")
	case !s.fits(d.login.Resource, form):
		return nil, refusef("invalid_target", "resource differs from that of the device authorization request")
	}
	since := time.Since(d.polled)
	d.polled = time.Now()
	switch {
	case since < d.interval:
		d.interval += 5 * time.Second
		return nil, refusef("slow_down", "polled after %s", since)
	case d.decision == denied:
		return nil, refusef("access_denied", "the user said no")
	case d.decision == "":
		return nil, refusef("authorization_pending", "the user has not decided")
	}
	d.used = true
	d.login.thumb, d.login.final = thumb, c.mayUse(grantRefresh) != nil
	return s.complete(d.login), nil
}

// ApproveDevice plays a user who types a user code and agrees. It fails if there is
// no such code.
func (s *Server) ApproveDevice(userCode string) error {
	return s.decide(userCode, approved, defaultUser)
}

// DenyDevice plays a user who types a user code and does not agree.
func (s *Server) DenyDevice(userCode string) error {
	return s.decide(userCode, denied, defaultUser)
}

func (s *Server) decide(userCode, decision, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.devices {
		if d.userCode == userCode && d.decision == "" && time.Now().Before(d.expires) {
			d.decision, d.login.User = decision, user
			return nil
		}
	}
	return fmt.Errorf("authtest: user code %q is not known, or was used, or has expired", userCode)
}
