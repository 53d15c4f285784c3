package host_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// acceptForge alters a file and the SHA-256 that it begins with, as somebody would who
// can write it.
func acceptForge(name string, data []byte, from, to string) error {
	_, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		body = data
	}
	return acceptForgeText(name, string(bytes.ReplaceAll(body, []byte(from), []byte(to))))
}

// acceptForgeText writes a file with any content under its true SHA-256.
func acceptForgeText(name, body string) error {
	sum := sha256.Sum256([]byte(body))
	return os.WriteFile(name, []byte(hex.EncodeToString(sum[:])+"\n"+body), 0o600)
}
