package toolrank

import "strings"

// phrase returns a word for what two words mean together and neither by itself, as
// In "how many" or "get rid of"; "" if they mean what they say. That is also where
// one word is often written as two.
func phrase(first, second string) string {
	switch first + " " + second {
	case "how many":
		return "count"
	case "how far":
		return "distance"
	case "how long":
		return "duration"
	case "how high", "how tall":
		return "height"
	case "how big", "how large":
		return "size"
	case "how fast", "how slow":
		return "performance"
	case "what time":
		return "time"
	case "get rid":
		return "delete"
	case "tear down", "throw away":
		return "delete"
	case "take off", "take out":
		return "remove"
	case "look up", "looking up":
		return "lookup"
	case "look for", "looking for", "search for", "searching for":
		return "search"
	case "find out", "show me", "tell me", "give me":
		return "get"
	case "sign in", "log in", "log into", "sign into":
		return "login"
	case "sign out", "log out":
		return "logout"
	case "sign up":
		return "register"
	case "set up":
		return "setup"
	case "spin up", "bring up", "fire up", "kick off":
		return "start"
	case "shut down", "spin down":
		return "stop"
	case "turn on", "switch on":
		return "enable"
	case "turn off", "switch off":
		return "disable"
	case "roll back":
		return "rollback"
	case "roll out":
		return "rollout"
	case "bring back", "put back":
		return "restore"
	case "take back":
		return "undo"
	case "back up":
		return "backup"
	case "clean up":
		return "cleanup"
	case "sum up":
		return "summarize"
	case "carry out":
		return "execute"
	case "hand over":
		return "assign"
	case "write to", "talk to":
		return "send"
	case "go to", "go back":
		return "navigate"
	case "fill in", "fill out":
		return "fill"
	case "check out":
		return "checkout"
	case "wake up":
		return "wake"
	case "pop up":
		return "popup"
	case "drop down":
		return "dropdown"
	case "screen shot":
		return "screenshot"
	case "web site":
		return "website"
	case "web page":
		return "webpage"
	case "data base":
		return "database"
	case "data set":
		return "dataset"
	case "work flow":
		return "workflow"
	case "file system":
		return "filesystem"
	case "spread sheet":
		return "spreadsheet"
	case "time zone":
		return "timezone"
	case "user name":
		return "username"
	case "work item", "user story":
		return "issue"
	}
	return ""
}

// derived returns stems that may be the noun of a verb, or the verb of a noun: translation
// for translate. What is no word is among them, too: no tool has it.
func derived(stem string) []string {
	if len(stem) < 5 {
		return nil
	}
	var all []string
	for _, pair := range [...][2]string{ // the endings of a verb and of its noun
		{"ate", "ation"}, {"ify", "ification"}, {"e", "ation"}, {"e", "ion"}, {"", "ation"}, {"", "ion"}, {"", "ment"},
	} {
		for i, ending := range pair {
			if root, ok := strings.CutSuffix(stem, ending); ok && len(root) >= 3 {
				all = append(all, root+pair[1-i])
			}
		}
	}
	return all
}
