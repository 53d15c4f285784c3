package listing

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash/maphash"
	"strconv"
	"strings"
)

// Name cuts the name of a tool to so many bytes, at least 24, if it is longer. What is cut ends in a hash of it, so that the same
// tool has the same name always, and no two have one.
func Name(name string, room int) string {
	const hashed = 10
	room = max(room, 24)
	if len(name) <= room {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashed]
	return strings.TrimRight(name[:room-hashed-1], "_-") + "_" + hash
}

// Join returns the result of a list: the items in a member, and the cursor of the next page unless that is empty. Size is
// about how many bytes the items have.
func Join(member string, items []json.RawMessage, next string, size int) json.RawMessage {
	out := make([]byte, 0, size+64)
	out = append(append(append(out, `{"`...), member...), `":[`...)
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	out = append(out, ']')
	if next != "" {
		out = append(append(append(out, `,"nextCursor":"`...), next...), '"')
	}
	return append(out, '}')
}

// Page returns the page of a list that begins at the cursor, of so many bytes unless one item has more. A cursor is bound to the list that it
// was made for: of another one it would leave out items, or repeat them.
func Page(member string, items []json.RawMessage, seed maphash.Seed, cursor string, room int) (json.RawMessage, error) {
	from := 0
	list := func() string {
		return strconv.FormatUint(Hash(seed, items, func(item json.RawMessage) string { return string(item) }), 36)
	}
	if cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		of, place, ok := strings.Cut(string(text), ".")
		n, numErr := strconv.Atoi(place)
		switch {
		case err != nil || !ok || numErr != nil || n < 0:
			return nil, errors.New("the cursor is not one of this list")
		case of != list() || n >= len(items):
			return nil, errors.New("the list has changed since the cursor was made: begin again, without a cursor")
		}
		from = n
	}
	size, to := len(member)+8, from
	for to < len(items) && (to == from || size+len(items[to]) < room) {
		size += len(items[to]) + 1
		to++
	}
	next := ""
	if to < len(items) {
		next = base64.RawURLEncoding.EncodeToString([]byte(list() + "." + strconv.Itoa(to)))
	}
	return Join(member, items[from:to], next, size), nil
}

// Hash identifies a list within this process, by what is told of its items.
func Hash[T any](seed maphash.Seed, items []T, text func(T) string) uint64 {
	var hash maphash.Hash
	hash.SetSeed(seed)
	for _, item := range items {
		hash.WriteString(text(item))
		hash.WriteByte(0)
	}
	return hash.Sum64()
}
