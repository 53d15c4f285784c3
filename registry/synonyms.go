package registry

import (
	"slices"
	"strings"
)

// builtinSynonyms returns words that are used for what a word means, for verbs and
// nouns that are frequent in tools. The word, and what is returned, are stems as of
// bm25.Stem.
func builtinSynonyms(word string) []string {
	var all []string
	for line := range strings.Lines(synonyms) {
		if !strings.Contains(line, word) {
			continue
		}
		words := strings.Fields(line)
		if i := slices.Index(words, ">"); i >= 0 {
			if slices.Contains(words[:i], word) {
				all = append(all, words[i+1:]...)
			}
		} else if i := slices.Index(words, word); i >= 0 {
			all = append(all, words[:i]...)
			all = append(all, words[i+1:]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The words of a line stand for each other; those before a > are asked with, and
// those behind it found, not the other way round.
const synonyms = `
	remove delete erase drop destroy discard
	trash purge wipe uninstall unset clean > delete remove
	delete remove > clear purge trash uninstall
	create add new make insert
	register write open setup generate compose draft > create
	show get fetch read retrieve view display see
	list > get show
	show get fetch see view display > list describe
	enumerate > list
	edit update modify change alter patch revise
	set adjust tweak configure > update
	rename > move update
	find search query lookup locate seek
	look discover explore browse > find search
	describe explain > get info detail
	send post submit deliver
	publish release deploy
	share > invite permission
	start launch begin boot
	run execute invoke perform trigger
	start launch > run
	stop kill terminate halt end abort
	cancel > stop delete
	restart reboot reload
	pause suspend
	copy duplicate clone replicate
	move relocate transfer
	download > fetch get export save
	upload > put import send attach
	save store persist
	save store put > write create
	export > download
	import > upload load
	enable activate
	disable deactivate
	approve accept
	reject decline deny
	close > resolve complete finish
	finish complete
	assign delegate
	comment reply respond answer
	check verify validate
	check > get status test
	inspect examine > get describe view
	compare diff difference
	summarize summarise summary
	count number total
	click press tap
	type enter input fill
	navigate visit goto
	open > navigate launch
	wait sleep delay
	buy purchase
	pay charge payment
	book schedule reserve
	subscribe watch follow
	undo revert rollback restore
	analyze analyse analysis
	translate > language
	convert transform
	merge combine join
	connect link attach
	print > pdf output
	capture grab > screenshot
	snapshot screenshot
	evaluate > execute run
	react > reaction emoji
	rank sort order
	archive > close
	lock protect
	scrape crawl extract
	monitor watch track
	debug troubleshoot diagnose

	folder directory dir
	image picture photo
	picture photo > screenshot
	email mail gmail
	ticket issue bug
	task todo
	reminder > task event
	pr > pull request
	mr > merge request
	repo repository
	doc document documentation
	manual > documentation
	page webpage
	site website
	website webpage site > page url web
	internet online > web
	user person member
	team group
	org organization
	message msg chat
	event meeting appointment
	invoice bill
	customer client
	db database
	sheet spreadsheet excel
	row record entry
	column field
	error exception failure
	env environment
	config configuration
	setting > configuration
	auth authentication
	login signin
	credential secret password
	url link uri
	address > location url
	video clip movie
	price cost
	metric statistic stat
	stat > count
	alert alarm
	ci pipeline workflow build
	job workflow > run
	history > log list
	memo > note
	memory knowledge > graph
	relation relationship edge
	entity node
	js javascript
	ts typescript
	k8s kubernetes
	pg postgres postgresql
	param parameter argument
	info information detail
	permission access role
	place location
	direction > route
	forecast weather
	clock date > time
	today > current
	sql > query
	package library module dependency
	vm machine instance
	server host
	txt text
	cmd command
	shell terminal bash console
	button > click
	tab > page
	form > fill
	vulnerability security

	deletion > delete
	removal > remove
	creation > create
	addition > add
	retrieval > retrieve
	installation > install
	configuration > configure
	configure > configuration
	registration > register
	navigation > navigate
	notification notify
	translation > translate
	modification > modify
	execution > execute
	deployment > deploy
	validation > validate
	subscription > subscribe
	subscribe > subscription
	description > describe
	conversion > convert
	comparison > compare
	generation > generate
	assignment > assign
	reservation > book
	payment > pay
	invitation > invite
	invite > invitation
	completion > complete
	selection > select
	extraction > extract
	approval > approve
	review > comment
`

// isStopWord reports whether a word, or its stem, says nothing about the tool that a
// query is after.
func isStopWord(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those", "it", "its", "them", "they", "their", "there",
		"i", "im", "ill", "me", "my", "mine", "we", "us", "our", "you", "your", "he", "she", "his", "her",
		"am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "having",
		"do", "does", "did", "doing", "done", "can", "cant", "could", "would", "should", "will", "shall", "may", "might", "must",
		"and", "or", "but", "nor", "so", "if", "then", "than", "because", "while", "not", "no", "dont",
		"of", "to", "in", "on", "at", "for", "from", "by", "with", "without", "into", "onto", "as", "about", "via", "per",
		"up", "out", "off", "over", "within", "through", "between", "against", "upon", "toward", "towards",
		"what", "whats", "which", "who", "whom", "whose", "when", "where", "why", "how", "whether",
		"please", "want", "wants", "wanted", "wanna", "need", "needs", "needed", "like", "help", "helps", "let", "lets", "able", "allow", "allows",
		"some", "any", "all", "every", "each", "both", "either", "other", "another", "such", "only", "just", "also", "too", "very", "really",
		"something", "someone", "somebody", "anything", "everything", "thing", "things", "way", "ways", "stuff",
		"here", "now", "tool", "tools", "use", "uses", "used", "using", "given", "give", "specific", "certain", "particular", "one", "ones", "etc", "eg", "ie":
		return true
	}
	return false
}
