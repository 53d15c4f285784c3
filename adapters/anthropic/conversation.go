package anthropic

import (
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Append returns a conversation with more messages behind it, as the API takes it. Some of
// what its models write the API refuses when it comes back, and every further request with
// it: blank texts, names that no tool can have, arguments that are no object, a message
// without content. That is put right, or left out.
//
// Where the user goes on and not the model, such as after a cancel or a refusal, the API
// also refuses calls without results. Those of the last answer get one that says that
// nobody knows what became of them, see [profile.Lost]; searches and other calls of the
// API's own that it has not come to the end of are left out.
//
// The messages that are given, and what they share memory with, stay as they are.
func Append(conversation []sdk.MessageParam, more ...sdk.MessageParam) []sdk.MessageParam {
	all := slices.Grow(slices.Clone(conversation), len(more))
	for _, m := range more {
		if m.Role == sdk.MessageParamRoleAssistant {
			if m.Content = sendable(m.Content); len(m.Content) > 0 {
				all = append(all, m)
			}
			continue
		}
		last := len(all) - 1
		for last >= 0 && all[last].Role == sdk.MessageParamRoleUser && onlyResults(all[last].Content, viewOf) {
			last--
		}
		if last < 0 || all[last].Role != sdk.MessageParamRoleAssistant || m.Role != sdk.MessageParamRoleUser || onlyResults(m.Content, viewOf) {
			all = append(all, m)
			continue
		}
		known := m.Content
		for _, behind := range all[last+1:] {
			known = slices.Concat(known, behind.Content)
		}
		var lost []sdk.ContentBlockParamUnion
		for _, call := range unanswered(all[last].Content, known, viewOf) {
			lost = append(lost, sdk.NewToolResultBlock(call.ID, lostText(call), true))
		}
		if last+1 < len(all) {
			all[last+1].Content = slices.Concat(all[last+1].Content, lost)
		} else {
			m.Content = slices.Concat(lost, m.Content)
		}
		all[last].Content = finished(all[last].Content, viewOf)
		if len(all[last].Content) == 0 {
			all = slices.Delete(all, last, last+1)
		}
		all = append(all, m)
	}
	return all
}

// BetaAppend is [Append] for the beta of the API.
func BetaAppend(conversation []sdk.BetaMessageParam, more ...sdk.BetaMessageParam) []sdk.BetaMessageParam {
	all := slices.Grow(slices.Clone(conversation), len(more))
	for _, m := range more {
		if m.Role == sdk.BetaMessageParamRoleAssistant {
			if m.Content = betaSendable(m.Content); len(m.Content) > 0 {
				all = append(all, m)
			}
			continue
		}
		last := len(all) - 1
		for last >= 0 && all[last].Role == sdk.BetaMessageParamRoleUser && onlyResults(all[last].Content, betaViewOf) {
			last--
		}
		if last < 0 || all[last].Role != sdk.BetaMessageParamRoleAssistant || m.Role != sdk.BetaMessageParamRoleUser || onlyResults(m.Content, betaViewOf) {
			all = append(all, m)
			continue
		}
		known := m.Content
		for _, behind := range all[last+1:] {
			known = slices.Concat(known, behind.Content)
		}
		var lost []sdk.BetaContentBlockParamUnion
		for _, call := range unanswered(all[last].Content, known, betaViewOf) {
			lost = append(lost, sdk.NewBetaToolResultBlock(call.ID, lostText(call), true))
		}
		if last+1 < len(all) {
			all[last+1].Content = slices.Concat(all[last+1].Content, lost)
		} else {
			m.Content = slices.Concat(lost, m.Content)
		}
		all[last].Content = finished(all[last].Content, betaViewOf)
		if len(all[last].Content) == 0 {
			all = slices.Delete(all, last, last+1)
		}
		all = append(all, m)
	}
	return all
}

// lostText returns what the model is told of a call that has no result.
func lostText(call profile.Call) string { return registry.Text(profile.Lost(call).Result) }
