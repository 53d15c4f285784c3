package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/cassette"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A test connects to the real server when RECORD is set, and to its recording
// otherwise.
func ExampleRecord() {
	t := &testing.T{} // your test has its own
	const file = "testdata/weather.json"
	var weather mcp.Transport
	if os.Getenv("RECORD") != "" {
		r := cassette.Record(&transport.Command{Path: "weather-server"}, nil)
		t.Cleanup(func() {
			if err := r.Save(file); err != nil {
				t.Error(err)
			}
		})
		weather = r
	} else {
		var err error
		if weather, err = cassette.Replay(file, nil); err != nil {
			t.Fatal(err)
		}
	}
	c := mcp.NewClient("weather", weather, nil)
	defer c.Close()
	// The agent is given c and tested.
}

func ExampleReplay() {
	weather, err := cassette.Replay("testdata/weather.json", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := mcp.NewClient("weather", weather, nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "forecast", json.RawMessage(`{"city":"Paris"}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", res.StructuredContent)

	_, err = c.CallTool(context.Background(), "forecast", json.RawMessage(`{"city":"Rome"}`), nil)
	var unrecorded *cassette.UnrecordedError
	fmt.Println(errors.As(err, &unrecorded), mcp.OutcomeOf(err))
	fmt.Println(unrecorded)
	// Output:
	// {"sky":"clear","celsius":21.50}
	// true not sent
	// cassette: testdata/weather.json: tools/call {"name":"forecast","arguments":{"city":"Rome"}} was not recorded; nearest differs in
	// 	arguments.city: recorded "Paris", got "Rome"
}
