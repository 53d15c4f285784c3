package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets this program be the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == roleServer || os.Args[1] == roleGateway) {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// TestMeasure measures a little of everything.
func TestMeasure(t *testing.T) {
	o := &options{calls: 10, rounds: 1, clients: 20}
	got, err := measure(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.rows) != 6 || len(got.costs) != 4 {
		t.Errorf("got %d rows and %d costs, want 6 and 4", len(got.rows), len(got.costs))
	}
}

// The table has a row for each revision and size.
func TestPage(t *testing.T) {
	tab := &table{options: &options{clients: 20}, costs: []cost{{"a call", "µs", 2}}, rows: []row{
		{revision: "2025-11-25", kind: kinds()[0], direct: []float64{3, 1, 2}, through: []float64{200, 100, 102}},
	}}
	page := tab.page()
	for _, want := range []string{"| 2025-11-25, small answer | 2 | 102 | 100 | 51.00 |\n", "| a call | 2 µs |\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want a line %s", page, want)
		}
	}
}

// What is measured is answered.
func TestAnswer(t *testing.T) {
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                     "",
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"small"}}`:   `{"jsonrpc":"2.0","id":7,"result":` + smallResult + `}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"large"}}`: `{"jsonrpc":"2.0","id":"a","result":large}`,
	} {
		if got := string(answer([]byte(message), "large")); got != want {
			t.Errorf("%s: got %.100s, want %.100s", message, got, want)
		}
	}
}
