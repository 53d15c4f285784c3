module github.com/mcpbelt/mcpbelt/session/keyringstore

go 1.26.0

require (
	github.com/gofrs/flock v0.13.1
	github.com/mcpbelt/mcpbelt v0.1.0
	github.com/zalando/go-keyring v0.2.8
	go.uber.org/goleak v1.3.0
)

require (
	github.com/danieljoos/wincred v1.2.3 // indirect
	github.com/godbus/dbus/v5 v5.2.2 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/mcpbelt/mcpbelt => ../..
