package transporttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// A test that meets the real server when RECORD is set, and its recording
// otherwise.
func ExampleRecord() {
	t := &testing.T{} // your test has its own
	const file = "testdata/weather.json"
	weather := transporttest.Replay(file)
	if os.Getenv("RECORD") != "" {
		weather = transporttest.Record(t, file, &transport.Command{Path: "weather-server"})
	}
	c := mcp.NewClient("weather", weather, nil)
	defer c.Close()
	// The agent is given c and tested.
}

func ExampleReplay() {
	c := mcp.NewClient("weather", transporttest.Replay("testdata/weather.json"), nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "forecast", json.RawMessage(`{"city":"Paris"}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", res.StructuredContent)

	_, err = c.CallTool(context.Background(), "forecast", json.RawMessage(`{"city":"Rome"}`), nil)
	var unrecorded *transporttest.UnrecordedError
	fmt.Println(errors.As(err, &unrecorded), mcp.OutcomeOf(err))
	for _, d := range unrecorded.Differences {
		fmt.Println(d.Path, "recorded", d.Recorded, "got", d.Got)
	}
	// Output:
	// {"sky":"clear","celsius":21.50}
	// true not sent
	// arguments.city recorded "Paris" got "Rome"
}
