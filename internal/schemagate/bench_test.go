package schemagate

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		assert.Value(Compile(json.RawMessage(weather)))(b)
	}
}

func BenchmarkValidate(b *testing.B) {
	s := mustCompile(b, weather)
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, s.Validate(json.RawMessage(forecast)))
	}
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, Check(json.RawMessage(weather), Limits{}))
	}
}
