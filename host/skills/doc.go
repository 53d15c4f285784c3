// Package skills gives a model the skills of all servers of a host, and of folders of the program.
//
// A skill is a folder with a SKILL.md, which tells a model how to do a task, and further files that it
// may need ([Agent Skills]). A program tells the model which skills there are, and gives it the tools that read them:
//
//	c := skills.New(h, &skills.Options{Folders: []string{"skills"}})
//	err := h.Registry().Add(c.Tools()...) // load_skill and read_skill_file
//	...
//	prompt += c.Instructions(ctx, 0) // at each turn
//
// # Who may be believed
//
// A skill of a server is text that a stranger wrote for a model. No model gets one before a person has
// accepted it, see [Catalogue.Accept]: the acceptance is for its name, its description and the digests of its files,
// is kept in the ledger beside those of tools, and ends when any of that changes. A skill that lies in another one is
// accepted by itself. What a skill says in allowed-tools counts only then, see [Skill.AllowedTools].
//
// Server and URI are the identity of a skill. Its name has that of the server before it, so that it can
// never be taken for a skill of the program, whose names have none.
//
// [Agent Skills]: https://agentskills.io/specification
package skills
