module github.com/mcpbelt/mcpbelt/host/config/filewatch

go 1.25.0

require (
	github.com/fsnotify/fsnotify v1.10.1
	go.uber.org/goleak v1.3.0
)

require golang.org/x/sys v0.47.0 // indirect

replace github.com/mcpbelt/mcpbelt => ../../..
