module github.com/mcpbelt/mcpbelt/host/access/oidc

go 1.26.0

require (
	github.com/go-jose/go-jose/v4 v4.1.4
	github.com/mcpbelt/mcpbelt v0.1.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/gofrs/flock v0.13.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/mcpbelt/mcpbelt => ../../..
