package consent

// A Launch is what starting a server means: exactly what is run or connected to.
type Launch struct {
	Server    string   // configured name
	Title     string   // the name as written
	Source    string   // where the entry stands, as file:line
	Project   string   // folder of the file, absolute
	Transport string   // stdio, http, sse or auto
	Path      string   // absolute path of the program
	Args      []string // its arguments
	Dir       string   // its working directory, absolute
	Env       []string // names of the variables that it gets, sorted
	URL       string   // of a remote server
	Headers   []string // names of the headers sent there, sorted
	Isolation string   // kind of isolation, or empty
}
