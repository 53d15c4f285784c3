package toolrank

import "strings"

// phrase returns a word for what two words mean together and neither by itself, as
// in "how many" or "get rid of"; "" if they mean what they say. That is also where
// one word is often written as two.
func phrase(first, second string) string { return phrases[first+" "+second] }

var phrases = map[string]string{
	"how many":      "count",
	"how far":       "distance",
	"how long":      "duration",
	"how high":      "height",
	"how tall":      "height",
	"how big":       "size",
	"how large":     "size",
	"how fast":      "performance",
	"how slow":      "performance",
	"what time":     "time",
	"get rid":       "delete",
	"tear down":     "delete",
	"throw away":    "delete",
	"take off":      "remove",
	"take out":      "remove",
	"look up":       "lookup",
	"looking up":    "lookup",
	"look for":      "search",
	"looking for":   "search",
	"search for":    "search",
	"searching for": "search",
	"find out":      "get",
	"show me":       "get",
	"tell me":       "get",
	"give me":       "get",
	"sign in":       "login",
	"log in":        "login",
	"log into":      "login",
	"sign into":     "login",
	"sign out":      "logout",
	"log out":       "logout",
	"sign up":       "register",
	"set up":        "setup",
	"spin up":       "start",
	"bring up":      "start",
	"fire up":       "start",
	"kick off":      "start",
	"shut down":     "stop",
	"spin down":     "stop",
	"turn on":       "enable",
	"switch on":     "enable",
	"turn off":      "disable",
	"switch off":    "disable",
	"roll back":     "rollback",
	"roll out":      "rollout",
	"bring back":    "restore",
	"put back":      "restore",
	"take back":     "undo",
	"back up":       "backup",
	"clean up":      "cleanup",
	"sum up":        "summarize",
	"carry out":     "execute",
	"hand over":     "assign",
	"write to":      "send",
	"talk to":       "send",
	"go to":         "navigate",
	"go back":       "navigate",
	"fill in":       "fill",
	"fill out":      "fill",
	"check out":     "checkout",
	"wake up":       "wake",
	"pop up":        "popup",
	"drop down":     "dropdown",
	"screen shot":   "screenshot",
	"web site":      "website",
	"web page":      "webpage",
	"data base":     "database",
	"data set":      "dataset",
	"work flow":     "workflow",
	"file system":   "filesystem",
	"spread sheet":  "spreadsheet",
	"time zone":     "timezone",
	"user name":     "username",
	"work item":     "issue",
	"user story":    "issue",
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
