// Package doctor tells how the servers of a host do, what is wrong with them, and how to
// cure it.
//
// # Looking at what runs
//
// [HealthOf] and [HealthOfAll] sum up how servers do, in a word ([Level]), what would help
// (Action), and numbers: calls, failures, processes. [Diagnose] says more of one server,
// with a ping and hints. None of them starts, connects or ends anything.
//
//	d, err := doctor.Diagnose(ctx, h, "github")
//	if err != nil {
//		return err
//	}
//	fmt.Println(d.Doing)
//	for _, hint := range d.Hints {
//		fmt.Println(hint.Text)
//	}
//
// # Trying what is not configured yet
//
// [Test] makes a connection of its own to the server of an entry, lists its tools, and says
// which of them the registry would list, and what it would call them. Nothing that runs or
// is kept is touched by it.
//
// # Hints
//
// A [Hint] says in a sentence or two what is probably the matter, and what to do. Its
// [string] names the cure, and is stable.
package doctor
