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

// DeviceOptions say how logins by device code go (RFC 8628).
type DeviceOptions struct {
	// Interval is the least time between two polls, in full seconds. Default: a
	// second.
	Interval time.Duration
	// Lifetime is how long the user has. Default: ten minutes.
	Lifetime time.Duration
}

// A device is a login by device code that was begun.
type device struct {
	grant    grant
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
	o := s.options.Device
	text := "device-" + rand.Text()
	random := rand.Text()
	d := &device{
		grant:    grant{client: c.ID, resource: form.Get("resource"), scopes: scopes},
		userCode: random[:4] + "-" + random[4:8],
		expires:  time.Now().Add(o.Lifetime),
		interval: o.Interval,
	}
	s.records.keep(text)
	s.mu.Lock()
	s.devices[text] = d
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{
		"device_code":               text,
		"user_code":                 d.userCode,
		"verification_uri":          s.URL(VerificationPage),
		"verification_uri_complete": s.URL(VerificationPage) + "?" + url.Values{"user_code": {d.userCode}}.Encode(),
		"expires_in":                int(o.Lifetime.Seconds()),
		"interval":                  int(o.Interval.Seconds()),
	})
	return nil
}

// exchangeDevice answers a poll (RFC 8628, section 3.5).
func (s *Server) exchangeDevice(c *client, form url.Values, thumb string) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.devices[form.Get("device_code")]
	switch {
	case d == nil || d.grant.client != c.ID || d.used:
		return nil, refusef("invalid_grant", "the device code is not known, or was used")
	case time.Now().After(d.expires):
		return nil, refusef("expired_token", "the user did not come in time")
	case !s.fits(d.grant.resource, form):
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
	d.grant.thumb, d.grant.final = thumb, c.mayUse(grantRefresh) != nil
	if s.options.GrantScopes != nil {
		d.grant.scopes = s.options.GrantScopes(d.grant.user, d.grant.scopes)
	}
	return s.issue(s.newFamily(d.grant), d.grant.scopes), nil
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
			d.decision, d.grant.user = decision, user
			return nil
		}
	}
	return fmt.Errorf("authtest: user code %q is not known, or was used, or has expired", userCode)
}
