package anthropic

import (
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Append returns a conversation with more messages behind it, as the API takes it. Some of
// what its models write the API refuses when it comes back, and every further request with
// it: blank texts, names that no tool can have, arguments that are no object, a message
// without content. That is put right, or left out.
//
// Where the user goes on and not the model, such as after a cancel or a refusal, the API
// also refuses calls without results. Those of the last answer get one that says that
// their outcome is not known, see [profile.Lost]; searches and other calls of the API's
// own that it has not come to the end of are left out.
//
// The messages that are given, and what they share memory with, stay as they are.
func Append(conversation []sdk.MessageParam, more ...sdk.MessageParam) []sdk.MessageParam {
	return plain().extend(conversation, more)
}

// BetaAppend is [Append] for the beta of the API.
func BetaAppend(conversation []sdk.BetaMessageParam, more ...sdk.BetaMessageParam) []sdk.BetaMessageParam {
	return beta().extend(conversation, more)
}

// extend is Append.
func (f *form[M, B]) extend(conversation, more []M) []M {
	all := slices.Grow(slices.Clone(conversation), len(more))
	for _, m := range more {
		switch f.role(m) {
		case assistant:
			if content := f.sendable(f.content(m)); len(content) > 0 {
				all = append(all, f.with(m, content))
			}
		case user:
			all, m = f.settled(all, m)
			all = append(all, m)
		default:
			all = append(all, m)
		}
	}
	return all
}

// settled returns a conversation behind which a message of the user can stand, and that
// message, behind the results that have to stand in it.
func (f *form[M, B]) settled(all []M, m M) ([]M, M) {
	content := f.content(m)
	if f.onlyResults(content) {
		return all, m // more of them may follow
	}
	last := len(all) - 1
	for last >= 0 && f.role(all[last]) == user && f.onlyResults(f.content(all[last])) {
		last--
	}
	if last < 0 || f.role(all[last]) != assistant {
		return all, m
	}
	results := content
	for i := last + 1; i < len(all); i++ {
		results = slices.Concat(results, f.content(all[i]))
	}
	said := f.content(all[last])
	var lost []B
	for _, call := range f.unanswered(said, results) {
		lost = append(lost, f.failure(call.ID, result.Text(profile.Lost(call).Result)))
	}
	switch {
	case len(lost) == 0:
	case last+1 < len(all):
		all[last+1] = f.with(all[last+1], slices.Concat(f.content(all[last+1]), lost))
	default:
		m = f.with(m, slices.Concat(lost, content))
	}
	if said = f.finished(said); len(said) == 0 {
		return slices.Delete(all, last, last+1), m
	}
	all[last] = f.with(all[last], said)
	return all, m
}
