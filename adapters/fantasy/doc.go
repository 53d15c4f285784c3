// Package fantasy gives the tools of a registry to agents of charm.land/fantasy.
//
// [PrepareStep] gives each step of an agent the tools that are listed at that moment, and
// that the user of the context may call:
//
//	agent := fantasy.NewAgent(model, fantasy.WithPrepareStep(belt.PrepareStep(reg, nil)))
//
// # Waiting for people
//
// A call that needs an approval or a login is not made. The model is told so, unless there
// is [Options].Waiting: that function tells a person, and the tool waits for the answer.
//
// # Results
//
// An agent drops the results of a whole step, and its error, if one tool returns an error.
// The tools never do: a call that failed, or whose context has ended, is a result that
// tells so. Fantasy takes one image as the result of a tool; of others, and of files, the
// model gets a line of text.
package fantasy
