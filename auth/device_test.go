package auth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// deviceAuthority returns what discovery would say of a peer with device codes.
func deviceAuthority(p *peer) *Authority {
	a := p.authority()
	a.DeviceEndpoint = p.url + "/device"
	a.DPoPAlgorithms = []string{"ES256"}
	return a
}

// deviceAnswer returns an answer to a device authorization request, with some
// members replaced; nil leaves them out.
func deviceAnswer(members map[string]any) string {
	all := map[string]any{
		"device_code":               "dc-1",
		"user_code":                 "WDJB-MJHT",
		"verification_uri":          "https://as.example/device",
		"verification_uri_complete": "https://as.example/device?user_code=WDJB-MJHT",
		"expires_in":                1800,
		"interval":                  7,
	}
	maps.Copy(all, members)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	text, _ := json.Marshal(all)
	return string(text)
}

func TestBeginDevice(t *testing.T) {
	as := newPeer(t, sends(200, deviceAnswer(nil)))
	p := assert.Value(flow(t, Config{Grant: DeviceCode}).BeginDevice(t.Context(), deviceAuthority(as), as.public(), []string{"read", "write"}))(t)
	wantPosted(t, as.only(t), "/device", "client_id", "client", "scope", "read write", "resource", "https://mcp.example.com/mcp")
	want := &Pending{
		Grant: DeviceCode, Server: "files", URL: "https://as.example/device", Client: *as.public(), Authority: *deviceAuthority(as),
		Scopes: []string{"read", "write"}, Expires: p.Expires,
		Device: &Device{Code: "dc-1", UserCode: "WDJB-MJHT", CompleteURL: "https://as.example/device?user_code=WDJB-MJHT", Interval: 7 * time.Second},
	}
	assert.True(t, reflect.DeepEqual(p, want), "login %+v", p)
}

func TestBeginDeviceAuthenticatesTheClient(t *testing.T) {
	as := newPeer(t, sends(200, deviceAnswer(nil)))
	client := &Client{Issuer: as.url, ID: "c1", Secret: "s1"}
	f := flow(t, Config{Grant: DeviceCode, Client: client, NoResource: true, DPoP: true})
	p := assert.Value(f.BeginDevice(t.Context(), deviceAuthority(as), client, nil))(t)
	wantBasic(t, as.only(t), "c1", "s1")
	wantPosted(t, as.only(t), "/device", "client_id", "c1")
	assert.Equal(t, p.Client.Secret, "", "the secret of the configuration is kept with the login")
	assert.Value(thumbprint(p.DPoPKey))(t)
}

func TestBeginDeviceAnswers(t *testing.T) {
	f := flow(t, Config{Grant: DeviceCode})
	for name, test := range map[string]struct {
		members            map[string]any
		interval, lifetime time.Duration
	}{
		"no interval":       {map[string]any{"interval": nil}, 5 * time.Second, 30 * time.Minute},
		"interval 0":        {map[string]any{"interval": 0}, 5 * time.Second, 30 * time.Minute},
		"interval below 0":  {map[string]any{"interval": -3}, 5 * time.Second, 30 * time.Minute},
		"interval of parts": {map[string]any{"interval": 0.2}, time.Second, 30 * time.Minute},
		"interval as text":  {map[string]any{"interval": "3"}, 3 * time.Second, 30 * time.Minute},
		"interval huge":     {map[string]any{"interval": 1e300}, time.Hour, 30 * time.Minute},
		"no lifetime":       {map[string]any{"expires_in": nil}, 7 * time.Second, 10 * time.Minute},
		"lifetime below 0":  {map[string]any{"expires_in": -1}, 7 * time.Second, 10 * time.Minute},
		"lifetime as text":  {map[string]any{"expires_in": "600"}, 7 * time.Second, 10 * time.Minute},
		"lifetime huge":     {map[string]any{"expires_in": 1e300}, 7 * time.Second, time.Hour},
		"no complete URL":   {map[string]any{"verification_uri_complete": nil}, 7 * time.Second, 30 * time.Minute},
		"code with a space": {map[string]any{"user_code": "WDJB MJHT"}, 7 * time.Second, 30 * time.Minute},
		"code of letters":   {map[string]any{"user_code": "ЖЯ-12"}, 7 * time.Second, 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			as := newPeer(t, sends(200, deviceAnswer(test.members)))
			begin := time.Now()
			p := assert.Value(f.BeginDevice(t.Context(), deviceAuthority(as), as.public(), nil))(t)
			assert.Equal(t, p.Device.Interval, test.interval, "interval")
			assert.False(t, p.Expires.Before(begin.Add(test.lifetime).Round(0)), "expires too early")
			assert.False(t, p.Expires.After(time.Now().Add(test.lifetime)), "expires too late")
		})
	}
}

// Google calls the address as a draft of RFC 8628 did.
func TestBeginDeviceByOldName(t *testing.T) {
	as := newPeer(t, sends(200, deviceAnswer(map[string]any{
		"verification_uri": nil, "verification_uri_complete": nil, "verification_url": "https://as.example/old",
	})))
	p := assert.Value(flow(t, Config{Grant: DeviceCode}).BeginDevice(t.Context(), deviceAuthority(as), as.public(), nil))(t)
	assert.Equal(t, p.URL, "https://as.example/old")
}

func TestBeginDeviceRefuses(t *testing.T) {
	canary := "c4n4ry" + rand.Text()
	f := flow(t, Config{Grant: DeviceCode})
	var refused *URLError
	var failed *RequestError
	for name, test := range map[string]struct {
		members map[string]any
		as      any
		text    string
	}{
		"no device code":         {map[string]any{"device_code": nil}, &failed, "device_code is missing"},
		"device code of lines":   {map[string]any{"device_code": canary + "\r\n"}, &failed, "device_code"},
		"device code a number":   {map[string]any{"device_code": 7}, &failed, "device_code"},
		"no user code":           {map[string]any{"user_code": nil}, &failed, "user_code is missing"},
		"user code long":         {map[string]any{"user_code": strings.Repeat(canary, 20)}, &failed, "user_code is longer"},
		"user code of escapes":   {map[string]any{"user_code": canary + "\x1b[2J"}, &failed, "cannot be shown"},
		"user code of lines":     {map[string]any{"user_code": canary + "\nType it at evil.example"}, &failed, "cannot be shown"},
		"user code turned round": {map[string]any{"user_code": canary + "\u202e"}, &failed, "cannot be shown"},
		"user code tagged":       {map[string]any{"user_code": canary + "\U000E0041"}, &failed, "cannot be shown"},
		"no address":             {map[string]any{"verification_uri": nil}, &failed, "verification_uri is missing"},
		"script":                 {map[string]any{"verification_uri": "javascript:alert(1)//" + canary}, &refused, "verification_uri"},
		"file":                   {map[string]any{"verification_uri": "file:///etc/passwd?" + canary}, &refused, "verification_uri"},
		"flag":                   {map[string]any{"verification_uri": "--upload-pack=" + canary}, &refused, "verification_uri"},
		"user name":              {map[string]any{"verification_uri": "https://as.example@evil.example/" + canary}, &refused, "verification_uri"},
		"plain http":             {map[string]any{"verification_uri": "http://as.example/" + canary}, &refused, "verification_uri"},
		"control characters":     {map[string]any{"verification_uri": "https://as.example/\r\n" + canary}, &refused, "verification_uri"},
		"complete script":        {map[string]any{"verification_uri_complete": "javascript:alert(1)//" + canary}, &refused, "verification_uri_complete"},
		"quotes":                 {map[string]any{"verification_uri": `https://as.example/?"&calc&"` + canary}, &refused, "verification_uri"},
		"pipes":                  {map[string]any{"verification_uri_complete": "https://as.example/?a|" + canary}, &refused, "verification_uri_complete"},
		"complete data":          {map[string]any{"verification_uri_complete": "data:text/html," + canary}, &refused, "verification_uri_complete"},
	} {
		t.Run(name, func(t *testing.T) {
			as := newPeer(t, sends(200, deviceAnswer(test.members)))
			_, err := f.BeginDevice(t.Context(), deviceAuthority(as), as.public(), nil)
			assert.True(t, errors.As(err, test.as), "%v is a %T", err, test.as)
			assert.Contains(t, err.Error(), test.text)
			keepsSecrets(t, err, canary)
		})
	}
	t.Run("refusal", func(t *testing.T) {
		as := newPeer(t, sends(400, `{"error":"unauthorized_client","error_uri":"`+canary+`"}`))
		_, err := f.BeginDevice(t.Context(), deviceAuthority(as), as.public(), nil)
		wantRefused(t, err, "device authorization", 400, "unauthorized_client")
		keepsSecrets(t, err, canary)
	})
	t.Run("not offered", func(t *testing.T) {
		as := newPeer(t, sends(200, deviceAnswer(nil)))
		_, err := f.BeginDevice(t.Context(), as.authority(), as.public(), nil)
		assert.Equal(t, assert.As[*metadataError](t, err).field, "device_authorization_endpoint", "missing")
		other := &Client{Issuer: "https://other.example", ID: "c1", Source: Dynamic}
		assert.As[*IssuerMismatchError](t, errOf(f.BeginDevice(t.Context(), deviceAuthority(as), other, nil)))
		assert.Equal(t, len(as.requests()), 0)
	})
}

// pollLogin returns a login at a peer that is polled for without long waits.
func pollLogin(as *peer) *Pending {
	return &Pending{
		Server: "files", Grant: DeviceCode, Authority: *deviceAuthority(as), Client: *as.public(),
		Scopes: []string{"read", "write"}, Expires: time.Now().Add(time.Hour),
		Device: &Device{Code: "dc-1", Interval: time.Millisecond},
	}
}

func TestPoll(t *testing.T) {
	var asked atomic.Int32
	as := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			sends(400, `{"error":"authorization_pending"}`)(w, r)
		case 2:
			sends(503, `{}`)(w, r)
		case 3: // the connection breaks
			panic(http.ErrAbortHandler)
		default:
			sends(200, `{"access_token":"at","token_type":"bearer","refresh_token":"rt","expires_in":60,"scope":"read"}`)(w, r)
		}
	})
	p := pollLogin(as)
	g := assert.Value(flow(t, Config{Grant: DeviceCode}).Poll(t.Context(), p))(t)
	assert.Equal(t, len(as.requests()), 4, "asked times")
	for _, got := range as.requests() {
		wantPosted(t, got, "/token", "grant_type", "urn:ietf:params:oauth:grant-type:device_code", "device_code", "dc-1",
			"client_id", "client", "resource", "https://mcp.example.com/mcp")
	}
	wantGrant(t, g, as, "client", "Bearer at")
	assert.Equal(t, fmt.Sprint(g.Token.Refresh.Reveal(), g.Scopes, g.Requested), "rt[read] [read write]", "grant")
	assert.Equal(t, *p.Device, Device{Code: "dc-1", Interval: time.Millisecond}, "the login stays as it was")
}

func TestPollBindsTheToken(t *testing.T) {
	p := pollLogin(newPeer(t, sendsWithNonce(t, `{"access_token":"at","token_type":"DPoP"}`)))
	p.DPoPKey = dpopKey(t)
	g := assert.Value(flow(t, Config{Grant: DeviceCode, DPoP: true}).Poll(t.Context(), p))(t)
	assert.Equal(t, [...]any{g.Token.Type, g.DPoPKey}, [...]any{"DPoP", p.DPoPKey}, "grant")
}

func TestPollEnds(t *testing.T) {
	canary := "c4n4ry" + rand.Text()
	f := flow(t, Config{Grant: DeviceCode})
	for name, test := range map[string]struct {
		status int
		body   string
		code   string // of an OAuthError; empty for a RequestError
	}{
		"refused by the user": {400, `{"error":"access_denied","error_uri":"` + canary + `"}`, "access_denied"},
		"too late":            {400, `{"error":"expired_token"}`, "expired_token"},
		"used before":         {400, `{"error":"invalid_grant"}`, "invalid_grant"},
		"with status 200":     {200, `{"error":"access_denied"}`, "access_denied"},
		"of no use":           {200, `{"access_token":7,"x":"` + canary + `"}`, ""},
		"bound to nothing":    {200, `{"access_token":"` + canary + `","token_type":"mac"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			as := newPeer(t, sends(test.status, test.body))
			_, err := f.Poll(t.Context(), pollLogin(as))
			if test.code == "" {
				wantFailed(t, err, "token", false)
			} else {
				wantRefused(t, err, "token", test.status, test.code)
			}
			keepsSecrets(t, err, canary)
			as.only(t)
		})
	}
}

func TestPollSendsNothingForOtherLogins(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f := flow(t, Config{Grant: DeviceCode})
	codeless, other, late := pollLogin(as), pollLogin(as), pollLogin(as)
	codeless.Device, other.Grant, late.Expires = nil, AuthorizationCode, time.Now().Add(-time.Second)
	assert.As[*StateError](t, errOf(f.Poll(t.Context(), codeless)))
	assert.As[*StateError](t, errOf(f.Poll(t.Context(), other)))
	assert.Equal(t, assert.As[*OAuthError](t, errOf(f.Poll(t.Context(), late))).Code, "expired_token", "expired")
	assert.As[*IssuerMismatchError](t, errOf(flow(t, Config{Grant: DeviceCode, Issuer: "https://other.example"}).Poll(t.Context(), pollLogin(as))))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Poll(ctx, pollLogin(as))
	assert.Is(t, err, context.Canceled, "cancelled")
	assert.Contains(t, err.Error(), `"files"`, "cancelled")
	assert.Equal(t, len(as.requests()), 0, "asked")
}

// An asker answers polls in a bubble, and keeps when it was asked.
type asker struct {
	begin   time.Time
	asked   []time.Duration
	answers []error
}

func (a *asker) ask() error {
	a.asked = append(a.asked, time.Since(a.begin))
	if len(a.asked) > len(a.answers) {
		return &OAuthError{Code: "authorization_pending", Status: 400}
	}
	return a.answers[len(a.asked)-1]
}

func TestPollPace(t *testing.T) {
	pending := &OAuthError{Code: "authorization_pending", Status: 400}
	slower := &OAuthError{Code: "slow_down", Status: 400}
	broken := &RequestError{err: errors.New("reset")}
	busy := &OAuthError{Status: 503, RetryAfter: 50 * time.Second}
	later := &OAuthError{Status: 429, Code: "authorization_pending", RetryAfter: 9 * time.Second}
	const s = time.Second
	for name, test := range map[string]struct {
		answers []error
		want    []time.Duration
	}{
		"at once":           {[]error{nil}, []time.Duration{5 * s}},
		"pending":           {[]error{pending, pending, nil}, []time.Duration{5 * s, 10 * s, 15 * s}},
		"slower for good":   {[]error{slower, pending, slower, pending, nil}, []time.Duration{5 * s, 15 * s, 25 * s, 40 * s, 55 * s}},
		"broken":            {[]error{broken, broken, broken, nil}, []time.Duration{5 * s, 15 * s, 35 * s, 75 * s}},
		"broken for long":   {[]error{broken, broken, broken, broken, broken, nil}, []time.Duration{5 * s, 15 * s, 35 * s, 75 * s, 140 * s, 205 * s}},
		"broken, then not":  {[]error{broken, broken, pending, nil}, []time.Duration{5 * s, 15 * s, 35 * s, 40 * s}},
		"slower and broken": {[]error{slower, broken, pending, nil}, []time.Duration{5 * s, 15 * s, 35 * s, 45 * s}},
		"busy":              {[]error{busy, nil}, []time.Duration{5 * s, 55 * s}},
		"later":             {[]error{later, pending, nil}, []time.Duration{5 * s, 14 * s, 19 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &asker{begin: time.Now(), answers: test.answers}
				assert.OK(t, poll(t.Context(), 5*s, time.Now().Add(time.Hour), a.ask))
				assert.Equal(t, fmt.Sprint(a.asked), fmt.Sprint(test.want), "asked")
			})
		})
	}
}

func TestPollExpires(t *testing.T) {
	broken := &RequestError{err: errors.New("reset")}
	synctest.Test(t, func(t *testing.T) {
		a := &asker{begin: time.Now()}
		assert.OK(t, assert.As[*pollExpired](t, poll(t.Context(), 0, time.Now().Add(21*time.Second), a.ask)).last)
		assert.Equal(t, fmt.Sprint(a.asked), "[5s 10s 15s 20s]", "asked")
	})
	synctest.Test(t, func(t *testing.T) {
		a := &asker{begin: time.Now(), answers: []error{broken, broken}}
		assert.Is(t, assert.As[*pollExpired](t, poll(t.Context(), 5*time.Second, time.Now().Add(30*time.Second), a.ask)).last, broken)
	})
	synctest.Test(t, func(t *testing.T) { // the network is back
		a := &asker{begin: time.Now(), answers: []error{broken}}
		assert.OK(t, assert.As[*pollExpired](t, poll(t.Context(), 5*time.Second, time.Now().Add(30*time.Second), a.ask)).last)
	})
	synctest.Test(t, func(t *testing.T) { // more than the login lives
		a := &asker{begin: time.Now(), answers: []error{&OAuthError{Status: 429, RetryAfter: 2 * time.Hour}}}
		assert.As[*pollExpired](t, poll(t.Context(), 5*time.Second, time.Now().Add(time.Hour), a.ask))
		assert.Equal(t, len(a.asked), 1, "asked times")
		assert.True(t, time.Since(a.begin) < time.Minute, "it gives up early")
	})
}

func TestPollEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		a := &asker{begin: time.Now()}
		assert.Is(t, poll(ctx, 5*time.Second, time.Now().Add(time.Hour), a.ask), context.DeadlineExceeded)
		assert.Equal(t, time.Since(a.begin), 12*time.Second, "time")
		assert.Equal(t, len(a.asked), 2, "asked times")
	})
	synctest.Test(t, func(t *testing.T) { // while it asks
		ctx, cancel := context.WithCancel(t.Context())
		a := &asker{begin: time.Now()}
		assert.Is(t, poll(ctx, 5*time.Second, time.Now().Add(6*time.Second), func() error { cancel(); return a.ask() }), context.Canceled)
		assert.Equal(t, len(a.asked), 1)
	})
}

func TestPollTellsWhyItExpired(t *testing.T) {
	as := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7200")
		sends(503, "{}")(w, r)
	})
	_, err := flow(t, Config{Grant: DeviceCode}).Poll(t.Context(), pollLogin(as))
	assert.Equal(t, assert.As[*OAuthError](t, err).Code, "expired_token", "refused")
	assert.Contains(t, err.Error(), "503")
	as.only(t)
}

func FuzzDeviceAnswer(f *testing.F) {
	f.Add([]byte(deviceAnswer(nil)))
	f.Add([]byte(deviceAnswer(map[string]any{"interval": -1e300, "expires_in": "1e400"})))
	f.Add([]byte(`{"device_code":"\u0000","user_code":"\ud800","verification_uri":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		object, err := readAnswer(body)
		if err != nil {
			return
		}
		p, r := &Pending{}, &reader{members: object}
		if p.readDevice(r); r.err != nil {
			return
		}
		d, lifetime := p.Device, p.Expires.Sub(time.Time{})
		assert.True(t, 0 < lifetime && lifetime <= maxDeviceLifetime, "the lifetime %v is within bounds", lifetime)
		assert.True(t, time.Second <= d.Interval && d.Interval <= maxDeviceLifetime, "the interval %v is within bounds", d.Interval)
		assert.True(t, 0 < len(d.UserCode) && len(d.UserCode) <= maxUserCode, "%q is short", d.UserCode)
		assert.False(t, strings.ContainsAny(d.Code.Reveal()+d.UserCode, "\r\n\x00\x1b"), "%q has control characters", d.UserCode)
		assert.True(t, d.Code != "" && p.URL != "", "there are a code and a page")
	})
}
