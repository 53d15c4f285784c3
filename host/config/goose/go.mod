module github.com/mcpbelt/mcpbelt/host/config/goose

go 1.26.0

require (
	github.com/mcpbelt/mcpbelt v0.1.0
	go.uber.org/goleak v1.3.0
	go.yaml.in/yaml/v4 v4.0.0
)

require (
	github.com/gofrs/flock v0.13.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/mcpbelt/mcpbelt => ../../..
