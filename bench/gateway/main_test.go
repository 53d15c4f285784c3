package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The table has a row for each revision and size.
func TestTable(t *testing.T) {
	out := filepath.Join(t.TempDir(), "GATEWAY.md")
	tab := &table{options: &options{out: out, beside: "x", besideIs: "other"}, session: 500, rows: []row{
		{revision: "2025-11-25", kind: kinds()[0], direct: []float64{3, 1, 2}, through: []float64{200, 100, 102}, beside: []float64{3800}},
	}}
	if err := tab.write(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	const want = "| 2025-11-25, small answer | 2 | 102 | 100 | 51.00 | hop ≤ 250 µs | 3800 |"
	if got := string(page); !strings.Contains(got, want) {
		t.Errorf("got %s, want a line %s", got, want)
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
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}
