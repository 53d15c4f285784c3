package serve

import (
	"bytes"
	"cmp"
	"context"
	"net"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/access/oidc"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
)

// jwtCredential begins the credentials of callers whose token is signed with the key of --jwt-key-file.
const jwtCredential = "jwt:"

// tokens are what lets callers in besides keys.
type tokens struct {
	issuers, audiences []string
	keyFile            string

	ofIssuers access.Authenticator // of the gateway; nil: no issuer is named
	signed    access.Authenticator // of the API of the page; nil: there is no key file
}

// open checks the flags. The URL of the gateway is that of the listener, unless there is a public one.
func (t *tokens) open(ctx context.Context, b *belt.Belt, l net.Listener, publicURL string, noKey bool, adminRole string) (err error) {
	switch {
	case t.issuers == nil && t.audiences != nil:
		return cli.UsageError("--audience is for tokens: name their --issuer")
	case t.issuers != nil && (l == nil || noKey):
		return cli.UsageError("tokens of an --issuer are for a listener with a key: leave out --stdio and --no-key")
	case t.keyFile != "" && adminRole == "":
		return cli.UsageError("--jwt-key-file is for the API of --admin")
	}
	if t.issuers != nil {
		o := &oidc.Options{Issuers: t.issuers, Resource: cmp.Or(publicURL, "http://"+l.Addr().String()), Audiences: t.audiences}
		if t.ofIssuers, err = oidc.New(ctx, o); err != nil {
			return cli.UsageError("%v", err)
		}
	}
	if t.keyFile != "" {
		key, err := ownfile.Read(b.Abs(t.keyFile), maxKeyFile, ownfile.Own)
		if err == nil {
			t.signed, err = oidc.NewSigned(&oidc.SignedOptions{Key: bytes.TrimSpace(key)})
		}
		if err != nil {
			return cli.UsageError("the key of --jwt-key-file cannot be used: %v", err)
		}
	}
	return nil
}
