package config_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/config"
)

func ExampleSchema() {
	var schema struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.Title)
	// Output: MCP servers
}
