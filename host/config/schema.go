package config

import _ "embed"

//go:embed schema/mcpbelt.schema.json
var schemaText string

// Schema returns the JSON Schema (2020-12) of the format mcpServers with all keys of
// this package, for editors that complete and check a file while it is written. A file
// that it accepts need not be usable: references are looked up when the file is read.
// [Parse] refuses all that it refuses, be it for one entry.
func Schema() []byte { return []byte(schemaText) }
