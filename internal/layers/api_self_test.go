package layers

import (
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestDescribePackage(t *testing.T) {
	tr := sketch(t, map[string]string{"mcp/a.go": `package mcp

type inner struct { Deep int; hidden int }
func (inner) Promoted() {}

type Thing struct { A, B string; inner; secret int; Error }
func (t *Thing) Set(a, b string, rest ...int) (err error) { return nil }
func (t Thing) Get() any { return nil }
func (t Thing) unexported() {}

type Error struct{}
type Pair[K comparable, V any] struct { Key K }
func (p *Pair[K, V]) Value() V { var v V; return v }
type Open interface { Do(n int) error }
type Sealed interface { Open; seal() }
type Number interface { ~int | ~float64 }
type Phase uint8
const (
	Idle Phase = iota
	Ready
)
const Revision = "2026"
var ErrGone Error
func New(o *Thing) (*Thing, error) { return nil, nil }
func Map[In, Out any](f func(In) Out) Out { var o Out; return o }
type Again = Thing
func hidden() {}
`})
	p := tr.pkgs["mcp"]
	var conf types.Config
	checked := assert.Value(conf.Check(module+"/mcp", tr.fset, astFiles(p), nil))(t)
	want := `mcp: const Idle mcp.Phase = 0
mcp: const Ready mcp.Phase = 1
mcp: const Revision untyped string = "2026"
mcp: func Map[In, Out any](f func(In) Out) Out
mcp: func New(o *mcp.Thing) (*mcp.Thing, error)
mcp: method (*Pair[K comparable, V any]) Value() V
mcp: method (*Thing) Set(a string, b string, rest ...int) (err error)
mcp: method (Thing) Get() any
mcp: method (Thing) Promoted()
mcp: type Again = mcp.Thing
mcp: type Error struct
mcp: type Number interface
mcp: type Number interface: ~int | ~float64
mcp: type Open interface
mcp: type Open interface: Do(n int) error
mcp: type Pair[K comparable, V any] struct
mcp: type Pair[K comparable, V any] struct: Key K
mcp: type Phase uint8
mcp: type Sealed interface
mcp: type Sealed interface: Do(n int) error
mcp: type Sealed interface: cannot be implemented elsewhere
mcp: type Thing struct
mcp: type Thing struct: A string
mcp: type Thing struct: B string
mcp: type Thing struct: Deep int
mcp: type Thing struct: Error mcp.Error (embedded)
mcp: var ErrGone mcp.Error`
	got := slices.Sorted(slices.Values(describePackage(checked)))
	assert.Equal(t, strings.Join(diffSorted(strings.Split(want, "\n"), got), "\n"), "", "the difference of the description (- wanted, + got)")
}
