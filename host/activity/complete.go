package activity

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// hashPrefix says how arguments are hashed.
const hashPrefix = "hmac-sha256:"

// Bounds of an event, in bytes. [Log.Record] cuts off what is longer.
const (
	maxText      = 512      // of ID, Parent, User, Server, Tool and each value of Detail
	maxError     = 2 << 10  // of Error
	maxArguments = 16 << 10 // of Arguments; longer ones are left out, not cut
	maxDetail    = 32       // values in Detail
)

// complete returns e as sinks get it.
func (l *Log) complete(ctx context.Context, e Event) Event {
	e.Time = e.Time.UTC()
	if year := e.Time.Year(); e.Time.IsZero() || year < 0 || year > 9999 { // RFC 3339 has four digits
		e.Time = time.Now().UTC()
	}
	if e.ID == "" {
		call := onbehalf.CallOf(ctx)
		e.ID = call.ID
		e.Parent = cmp.Or(e.Parent, call.Parent)
	}
	if e.ID == "" {
		e.ID = rand.Text()
	}
	if e.User == "" {
		e.User, _ = onbehalf.User(ctx)
	}
	e.ArgumentBytes = cmp.Or(e.ArgumentBytes, int64(len(e.Arguments)))
	if len(e.Arguments) > 0 && e.ArgumentHash == "" {
		e.ArgumentHash = hashArguments(l.key, e.Arguments)
	}
	e.Arguments = l.kept(e.Arguments)
	for _, text := range []*string{&e.ID, &e.Parent, &e.User, &e.Server, &e.Tool, &e.Kind, &e.Outcome, &e.ArgumentHash} {
		*text = cut(*text, maxText)
	}
	e.Tool = cut(l.redactor.Text(e.Tool), maxText) // it may be any text of a model
	// Redacted before it is cut, so that no half of a secret is left. A text longer than
	// any error that is meant for people is not read to its end.
	e.Error = cut(l.redactor.Text(cut(e.Error, 8*maxError)), maxError)
	e.Detail = l.detail(e.Detail)
	return e
}

// kept returns what is kept of arguments.
func (l *Log) kept(args json.RawMessage) json.RawMessage {
	if !l.keepArguments || len(args) == 0 || len(args) > maxArguments || jsonscan.Valid(args) != nil {
		return nil
	}
	redacted := l.redactor.JSON(args)
	if len(redacted) > maxArguments {
		return nil
	}
	return slices.Clone(redacted)
}

// detail returns a copy of a map within the bounds; the keys that come first stay.
func (l *Log) detail(detail map[string]string) map[string]string {
	if len(detail) == 0 {
		return nil
	}
	within := make(map[string]string, min(len(detail), maxDetail))
	for _, key := range slices.Sorted(maps.Keys(detail)) {
		if len(within) == maxDetail {
			break
		}
		within[cut(key, maxText)] = cut(l.redactor.Text(cut(detail[key], 8*maxText)), maxText)
	}
	return within
}

// hashArguments returns a hash that is equal for arguments that mean the same. What
// is not JSON is taken byte for byte.
func hashArguments(key []byte, args json.RawMessage) string {
	mac := hmac.New(sha256.New, key)
	canonical, err := canonjson.Append(nil, args)
	if err != nil {
		canonical = args
	}
	mac.Write(canonical)
	return hashPrefix + hex.EncodeToString(mac.Sum(nil))
}

// cut returns text as valid UTF-8 of at most most bytes, with "…" where it was cut.
func cut(text string, most int) string {
	if len(text) > most {
		text = text[:min(len(text), 2*most)] // not read to its end
	}
	return plain.Cut(strings.ToValidUTF8(text, "\uFFFD"), most)
}
