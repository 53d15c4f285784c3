package config

// Values of Input.Type.
const (
	inputPrompt  = "promptString" // the user types it
	inputPick    = "pickString"   // the user chooses one of Options
	inputCommand = "command"      // a command of the editor answers: VS Code's own
)

// An Input is something that the user is asked for, once, before the servers that
// refer to it start: the "inputs" of VS Code.
type Input struct {
	ID          string   // what ${input:ID} calls it
	Type        string   // promptString: the user types it; pickString: they choose one of Options; or command
	Description string   // the question, in the file's own words
	Default     string   // the answer that is offered; empty: none
	Password    bool     // what is typed must not be seen
	Options     []string // of pickString, in file order
}
