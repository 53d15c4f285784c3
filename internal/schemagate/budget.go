package schemagate

import (
	"encoding/json"
	"hash/maphash"
	"math/big"
)

// A budget counts what it would cost the validator to check a value. It takes
// every way that the validator could take, so it never counts too little.
type budget struct {
	left   int
	frames int
	depth  int // within the value
	seed   maphash.Seed
}

// affordable reports whether checking value against n costs no more than steps.
func affordable(n *node, value any, steps int) bool {
	b := budget{left: steps, seed: maphash.MakeSeed()}
	return b.visit(n, value)
}

func (b *budget) spend(steps int) bool {
	b.left -= min(steps, MaxSteps+1)
	return b.left >= 0
}

func (b *budget) visit(n *node, value any) bool {
	// An error holds the path to where it is, so it costs more farther down.
	if b.frames++; b.frames > maxFrames || !b.spend(4+b.depth/4+n.fixed) {
		return false
	}
	defer func() { b.frames-- }()
	ok := true
	switch value := value.(type) {
	case string:
		ok = b.spend(cost(len(value), 1+n.program))
	case json.Number:
		ok = b.spend(weight(value))
	case map[string]any:
		ok = b.members(n, value)
	case []any:
		ok = b.elements(n, value)
	}
	for i := 0; ok && i < len(n.same); i++ {
		ok = b.visit(n.same[i], value)
	}
	return ok
}

func (b *budget) members(n *node, object map[string]any) bool {
	b.depth++
	defer func() { b.depth-- }()
	for name, value := range object {
		if !b.spend(1 + len(name)/64) {
			return false
		}
		for _, m := range n.matching {
			if !b.spend(cost(len(name), m.pattern.size)) || !b.visit(m.node, value) {
				return false
			}
		}
		member := n.members[name]
		if member != nil && !b.visit(member, value) {
			return false
		}
		for i := 0; member == nil && i < len(n.rest); i++ {
			if !b.visit(n.rest[i], value) {
				return false
			}
		}
		if n.names != nil && !b.visit(n.names, name) {
			return false
		}
	}
	return true
}

func (b *budget) elements(n *node, array []any) bool {
	b.depth++
	defer func() { b.depth-- }()
	if n.unique && !b.spend(16*weight(array)) || n.unique && !b.spend(collisions(array, b.seed)) {
		return false
	}
	for i, value := range array {
		if !b.spend(1) || i < len(n.prefix) && !b.visit(n.prefix[i], value) {
			return false
		}
		for _, sub := range n.elements {
			if !b.visit(sub, value) {
				return false
			}
		}
	}
	return true
}

// cost returns what it costs to run a pattern over a text.
func cost(length, program int) int {
	return 1 + length/64*program + length%64*program/64
}

// weight returns what it costs to compare something with another value.
func weight(value any) int {
	switch value := value.(type) {
	case nil:
		return 1
	case string:
		return 1 + len(value)/64
	case json.Number:
		size := digits(value)
		return 1 + size*size/4096
	case []any:
		sum := 1
		for _, element := range value {
			sum += weight(element)
		}
		return sum
	case map[string]any:
		sum := 1
		for name, member := range value {
			sum += weight(name) + weight(member)
		}
		return sum
	}
	return 1
}

// collisions returns what it costs that the validator compares all elements
// whose hashes are equal with each other: it hashes ["a","b"] and ["a\u0004b"]
// to the same value, and more of the kind.
func collisions(array []any, seed maphash.Seed) int {
	alike := map[uint64]int{}
	sum := 0
	var h maphash.Hash
	for _, element := range array {
		switch element.(type) {
		case map[string]any, []any:
			h.SetSeed(seed)
			validatorHash(&h, element)
			sum += alike[h.Sum64()] * weight(element)
			alike[h.Sum64()]++
			if sum > MaxSteps {
				return sum
			}
		}
	}
	return sum
}

// validatorHash writes what the validator hashes of a value.
func validatorHash(h *maphash.Hash, value any) {
	switch value := value.(type) {
	case map[string]any:
		_ = h.WriteByte(0)
		for _, name := range sorted(value) {
			validatorHash(h, name)
			validatorHash(h, value[name])
		}
	case []any:
		_ = h.WriteByte(1)
		for _, element := range value {
			validatorHash(h, element)
		}
	case nil:
		_ = h.WriteByte(2)
	case bool:
		_ = h.WriteByte(3)
		if value {
			_ = h.WriteByte(1)
		} else {
			_ = h.WriteByte(0)
		}
	case string:
		_ = h.WriteByte(4)
		_, _ = h.WriteString(value)
	case json.Number:
		_ = h.WriteByte(5)
		if n, ok := new(big.Rat).SetString(string(value)); ok {
			_, _ = h.Write(n.Num().Bytes())
			_, _ = h.Write(n.Denom().Bytes())
		}
	}
}
