package anthropic

import (
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Append returns a conversation with more messages behind it, as the API takes it, see
// [profile.Repairer]. Blank texts, thinking that was cut off, or that nothing stands behind, and
// messages without content are left out; so are searches and other calls of the API's own that
// it has not come to the end of, where the user goes on.
//
// The messages that are given, and what they share memory with, stay as they are.
func Append(conversation []sdk.MessageParam, more ...sdk.MessageParam) []sdk.MessageParam {
	return plain().repaired(slices.Concat(conversation, more), nil)
}

// BetaAppend is [Append] for the beta of the API.
func BetaAppend(conversation []sdk.BetaMessageParam, more ...sdk.BetaMessageParam) []sdk.BetaMessageParam {
	return beta().repaired(slices.Concat(conversation, more), nil)
}

// A piece of a conversation is a message without its results, or one of these.
type piece[M, B any] struct {
	message M
	content []B
	results bool
	lost    bool // the result has been made for a call that had none
	behind  bool // it is the rest of the message with the results before it
}

// repaired returns a conversation as the API takes it. If missing is there, the user goes on,
// and it returns the results of calls that have none.
func (f *form[M, B]) repaired(conversation []M, missing func(profile.Call) B) []M {
	r := &profile.Repairer[piece[M, B]]{
		Provider: profile.Anthropic,
		Ended:    missing != nil,
		Each: func(p piece[M, B], call, result func(profile.Call) profile.Call) piece[M, B] {
			p.content = slices.Clone(p.content)
			for i := f.over(p.content); i < len(p.content); i++ {
				b := p.content[i]
				if v := f.look(b); p.results {
					p.content[i] = f.called(b, result(profile.Call{ID: v.ends}))
				} else if v.call != nil {
					p.content[i] = f.called(b, call(*v.call))
				}
			}
			return p
		},
		Lost: func(c profile.Call, text string) piece[M, B] {
			block := f.failure(c.ID, text)
			if missing != nil {
				block = missing(c)
			}
			return piece[M, B]{message: f.user(), content: []B{block}, results: true, lost: true}
		},
	}
	var out []M
	behind, lost := false, false // the message before is results, all of which were lost
	for _, p := range r.Repair(f.pieces(conversation, r.Ended)) {
		if last := len(out) - 1; behind && (p.results || p.behind || lost && f.role(p.message) == user && p.content != nil) {
			out[last] = f.with(out[last], append(f.content(out[last]), p.content...))
		} else if p.content != nil {
			out = append(out, f.with(p.message, slices.Clone(p.content)))
		} else {
			out = append(out, p.message)
		}
		lost = p.lost && (lost || !behind)
		behind = p.results
	}
	return out
}

// pieces takes a conversation apart.
func (f *form[M, B]) pieces(conversation []M, ended bool) []piece[M, B] {
	var all []piece[M, B]
	goesOn := ended // the user says something behind the message
	for _, m := range slices.Backward(conversation) {
		content := f.content(m)
		var results, rest []B
		for _, b := range content {
			if f.look(b).result {
				results = append(results, b)
			} else {
				rest = append(rest, b)
			}
		}
		switch {
		case f.role(m) == assistant:
			if content = f.sendable(content); goesOn {
				content = f.finished(content)
			}
			if len(content) > 0 {
				all = append(all, piece[M, B]{message: m, content: content})
			}
			goesOn = false
		case results == nil:
			all = append(all, piece[M, B]{message: m, content: content})
			goesOn = goesOn || f.role(m) == user
		default:
			if rest != nil {
				all = append(all, piece[M, B]{message: m, content: rest, behind: true})
				goesOn = true
			}
			for _, b := range slices.Backward(results) {
				all = append(all, piece[M, B]{message: m, content: []B{b}, results: true})
			}
		}
	}
	slices.Reverse(all)
	return all
}
