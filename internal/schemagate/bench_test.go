package schemagate

import (
	"encoding/json"
	"testing"
)

const (
	weather = `{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"array","items":{"$ref":"#/$defs/day"}}},
		"required":["place","days"],"$defs":{"day":{"type":"object","properties":{"date":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
		"high":{"type":"number"},"low":{"type":"number"},"sky":{"enum":["clear","cloudy","rain","snow"]}},"required":["date"]}}}`
	forecast = `{"place":"Somewhere","days":[{"date":"2026-07-28","high":21.5,"low":11,"sky":"clear"},
		{"date":"2026-07-29","high":19,"low":12,"sky":"rain"},{"date":"2026-07-30","high":18,"low":9.5,"sky":"cloudy"}]}`
)

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(json.RawMessage(weather)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	s := mustCompile(b, weather)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(json.RawMessage(forecast)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(json.RawMessage(weather), Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
