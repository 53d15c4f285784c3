package config

// Values of [Input.Type].
const (
	InputPrompt  = "promptString" // the user types it
	InputPick    = "pickString"   // the user chooses one of Options
	InputCommand = "command"      // a command of the editor answers: VS Code's own
)

// An Input is something that the user is asked for, once, before the servers that
// refer to it start: the "inputs" of VS Code.
type Input struct {
	ID          string   // what ${input:ID} calls it
	Type        string   // one of the Input constants
	Description string   // the question, in the file's own words
	Default     string   // the answer that is offered; empty: none
	Password    bool     // what is typed must not be seen
	Options     []string // of InputPick, in file order
}
