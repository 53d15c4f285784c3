package httpfield

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"X-Api-Key": true, "a": true, "!#$%&'*+-.^_`|~9": true,
		"": false, "a b": false, "a:b": false, "a\r\n": false, "é": false, "a(b)": false, "@": false, "[": false, "{": false,
	} {
		assert.Equal(t, ValidName(name), want, "%q", name)
	}
}

func TestValidValue(t *testing.T) {
	for value, want := range map[string]bool{
		"": true, "a b\tc": true, "é\u2028": true,
		"a\r\nb: c": false, "\x00": false, "\x7f": false, "\n": false,
	} {
		assert.Equal(t, ValidValue(value), want, "%q", value)
	}
}

// A wait is a number of seconds or a date; what is neither, or lies in the past, asks for no wait.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for value, want := range map[string]time.Duration{
			"7": 7 * time.Second, "0": 0, "2147483647": 2147483647 * time.Second,
			date(90 * time.Second): 90 * time.Second, date(-time.Hour): 0,
			"": 0, "-1": 0, "+1": 0, "1.5": 0, "2147483648": 0, "99999999999999999999": 0, "soon": 0,
		} {
			assert.Equal(t, RetryAfter(http.Header{"Retry-After": {value}}), want, "%q", value)
		}
	})
}
