package mask

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestMaskedValue: a secret is not shown, and what a program may run always is, whatever
// it is called.
func TestMaskedValue(t *testing.T) {
	for _, test := range []struct{ name, separator, value, want string }{
		{"API_KEY", "=", "sk-0123456789abcd", "****abcd"},
		{"API_KEY", "=", "short", "****"},
		{"API_KEY", "=", "${API_KEY}", "${API_KEY}"},
		{"API_KEY", "=", "${API_KEY:-sk-0123456789abcd}", "${API_KEY:-****abcd}"},
		{"MODE", "=", "production", "production"},
		{"DATABASE_URL", "=", "postgres://me:pw@db.example/x", "postgres://[redacted: URL credentials]@db.example/x"},
		{"OPENAI_BASE_URL", "=", "https://evil.example/v1", "https://evil.example/v1"},
		{"NODE_OPTIONS", "=", "--import=data:text/javascript;base64,YWxlcnQoMSk0123456789", "--import=data:text/javascript;base64,YWxlcnQoMSk0123456789"},
		{"BASH_FUNC_token%%", "=", "() { evil; }", "() { evil; }"},
		{"GIT_CONFIG_KEY_0", "=", "core.sshCommand", "core.sshCommand"},
		{"TOKEN_HELPER", "=", "evil", "evil"},
		{"TOKEN", "=", "./evil", "./evil"},
		{"TOKEN", "=", "evil --now; evil", "evil --now; evil"},
		{"GIT_ASKPASS", "=", "evil", "evil"},
		{"SESSION", "=", "/tmp/a:/tmp/b", "/tmp/a:/tmp/b"},
		{"PRIVATE_KEY", "=", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----", "---****----"},
		{"PRIVATE_KEY", "=", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\nevil", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\nevil"},
		{"Authorization", ": ", "Bearer sk-0123456789abcd", "Bearer ****abcd"},
		{"Authorization", ": ", "Bearer ${TOKEN}", "Bearer ${TOKEN}"},
		{"RUNNER", "=", "a1b2c3d4", "a1b2c3d4"},
		{"X-Mode", ": ", "fast", "fast"},
	} {
		got, ok := Value(test.name, test.separator, test.value)
		if !ok {
			got = test.value
		}
		assert.Equal(t, got, test.want, "%s%s%s", test.name, test.separator, test.value)
	}
}
