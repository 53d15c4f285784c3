module github.com/mcpbelt/mcpbelt/host/config/codex

go 1.26.0

require (
	github.com/mcpbelt/mcpbelt v0.1.0
	github.com/pelletier/go-toml/v2 v2.4.3
	go.uber.org/goleak v1.3.0
)

require (
	github.com/gofrs/flock v0.13.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/mcpbelt/mcpbelt => ../../..
