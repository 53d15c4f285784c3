package eino

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func BenchmarkSchema(b *testing.B) {
	for name, raw := range map[string]string{
		"kept": `{"type":"object","properties":{"z":{"type":"string","description":"a text"},"a":{"type":["string","null"]},"m":{"$ref":"#/$defs/M"}},"required":["z"],"$defs":{"M":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`,
		"odd":  `{"type":"object","properties":{"z":{"type":"string","nullable":true},"a":{"type":["string","null"]},"m":{"$ref":"#/$defs/M"}},"required":["z"],"$defs":{"M":{"anyOf":[{"type":"integer"},{}]}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				assert.Value(schemaOf([]byte(raw)))(b)
			}
		})
	}
}
