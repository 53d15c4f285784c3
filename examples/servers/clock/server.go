package main

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	_ "time/tzdata" // the zones, also where the system has none

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	endpoint = "/mcp"

	// idleSession is how long a client may be silent before its session ends.
	idleSession = 30 * time.Minute

	maxCountdown = 10 // seconds
	tick         = 200 * time.Millisecond
)

// zoneNames are the zones of the tz database's zone.tab, one a line.
//
//go:embed zones.txt
var zoneNames string

type (
	nowInput struct {
		Zone string `json:"zone,omitempty" jsonschema:"IANA time zone such as Europe/Paris; UTC if left out"`
	}
	nowOutput struct {
		Time    string `json:"time" jsonschema:"RFC 3339, to the second"`
		Zone    string `json:"zone"`
		Weekday string `json:"weekday"`
	}
	zonesInput struct {
		Prefix string `json:"prefix,omitempty" jsonschema:"how the names begin, in any case, such as europe/; all zones if left out"`
	}
	zonesOutput struct {
		Zones []string `json:"zones"`
	}
	countdownInput struct {
		Seconds int `json:"seconds"`
	}
	countdownOutput struct {
		Passed int `json:"passed" jsonschema:"how many seconds the countdown took"`
	}
)

// newHandler returns the server's handler: the endpoint, closed to web pages of
// other origins. The SDK refuses foreign Host headers on loopback by itself.
func newHandler(log *slog.Logger) (http.Handler, error) {
	server, err := newServer(log)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(endpoint, mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Logger: log, SessionTimeout: idleSession, PropagateRequestCancellation: true},
	))
	return http.NewCrossOriginProtection().Handler(mux), nil
}

func newServer(log *slog.Logger) (*mcp.Server, error) {
	countdownSchema, err := jsonschema.For[countdownInput](nil)
	if err != nil {
		return nil, err
	}
	seconds := countdownSchema.Properties["seconds"]
	seconds.Description = "how long to count"
	seconds.Minimum = jsonschema.Ptr(1.0)
	seconds.Maximum = jsonschema.Ptr(float64(maxCountdown))

	s := mcp.NewServer(&mcp.Implementation{Name: "clock", Title: "Clock", Version: "1.0.0"}, &mcp.ServerOptions{
		Logger:       log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	mcp.AddTool(s, &mcp.Tool{
		Name: "now", Title: "Tell the time", Annotations: reads,
		Description: "Return the time of day in a time zone.",
	}, now)
	mcp.AddTool(s, &mcp.Tool{
		Name: "zones", Title: "List time zones", Annotations: reads,
		Description: "List the names of the time zones that begin with a prefix.",
	}, zones)
	mcp.AddTool(s, &mcp.Tool{
		Name: "countdown", Title: "Count down", Annotations: reads, InputSchema: countdownSchema,
		Description: fmt.Sprintf("Wait for up to %d seconds and report progress meanwhile.", maxCountdown),
	}, countdown)
	return s, nil
}

func now(_ context.Context, _ *mcp.CallToolRequest, in nowInput) (*mcp.CallToolResult, nowOutput, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, nowOutput{}, fmt.Errorf("there is no time zone %q; zones lists the names", in.Zone)
	}
	t := time.Now().In(zone)
	return nil, nowOutput{Time: t.Format(time.RFC3339), Zone: zone.String(), Weekday: t.Weekday().String()}, nil
}

func zones(_ context.Context, _ *mcp.CallToolRequest, in zonesInput) (*mcp.CallToolResult, zonesOutput, error) {
	found := []string{} // the output schema asks for an array, not null
	prefix := strings.ToLower(in.Prefix)
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			found = append(found, name)
		}
	}
	return nil, zonesOutput{found}, nil
}

// countdown waits, which is what it is for, and sends progress at each tick to
// a client that asked for it. A cancelled call ends at once.
func countdown(ctx context.Context, req *mcp.CallToolRequest, in countdownInput) (*mcp.CallToolResult, countdownOutput, error) {
	total := time.Duration(in.Seconds) * time.Second
	token := req.Params.GetProgressToken()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for passed := tick; passed <= total; passed += tick {
		select {
		case <-ctx.Done():
			return nil, countdownOutput{}, ctx.Err()
		case <-ticker.C:
		}
		if token == nil {
			continue
		}
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      passed.Seconds(),
			Total:         total.Seconds(),
			Message:       fmt.Sprintf("%.1f s left", (total - passed).Seconds()),
		})
		if err != nil {
			return nil, countdownOutput{}, err
		}
	}
	return nil, countdownOutput{in.Seconds}, nil
}
