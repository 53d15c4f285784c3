package toolrank

import (
	"iter"
	"slices"
	"strings"
)

// builtinSynonyms returns words that are used for what a word means, for verbs and
// nouns that are frequent in tools. The word, and what is returned, are stems as of
// bm25.Stem.
func builtinSynonyms(word string) []string {
	var all []string
	for line := range linesWith(synonyms, word) {
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

// linesWith yields the lines of a text that have a word, or a longer one that it is part of.
func linesWith(text, word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word != "" {
			at := strings.Index(text, word)
			if at < 0 {
				return
			}
			line, rest, _ := strings.Cut(text[at:], "\n")
			if begin := strings.LastIndexByte(text[:at], '\n') + 1; !yield(text[begin : at+len(line)]) {
				return
			}
			text = rest
		}
	}
}

// isVerb reports whether a stem is a word for doing something that people ask for.
func isVerb(stem string) bool {
	verbs, _, _ := strings.Cut(synonyms, "\n\n")
	for line := range linesWith(verbs, stem) {
		asked, _, _ := strings.Cut(line, ">")
		if slices.Contains(strings.Fields(asked), stem) {
			return true
		}
	}
	return false
}

// The words of a line stand for each other; those before a > are asked with, and
// those behind it found, not the other way round. First come those for doing something.
const synonyms = `
	remove delete erase drop destroy discard
	trash purge wipe uninstall unset clean forget > delete remove
	delete remove > clear purge trash uninstall
	create add new make insert
	register write open setup generate compose draft report raise submit > create
	show get fetch read retrieve view display
	see > get show view
	list > get show
	show get fetch see view display > list describe
	enumerate > list
	edit update modify change alter patch revise
	set adjust tweak configure > update
	rename > move update
	find search query lookup locate seek
	look discover explore browse ask google research investigate > find search
	describe explain > get info detail
	send post submit deliver
	publish release deploy
	share > invite permission
	start launch begin boot
	run execute invoke perform trigger
	start launch > run create
	stop kill terminate halt end abort
	cancel end > stop delete
	end > cancel
	restart reboot reload rerun retry
	pause suspend sleep
	wake unpause awaken > resume restore
	copy duplicate clone replicate fork
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
	enter input > type fill
	navigate visit goto
	open > navigate launch
	wait sleep delay
	buy purchase
	pay charge payment
	book schedule reserve
	subscribe watch follow
	undo revert rollback restore
	roll > rollback rollout revert
	analyze analyse analysis
	translate > language
	convert transform
	merge combine join
	promote > merge deploy
	connect link attach
	print > pdf output
	capture grab > screenshot
	snapshot screenshot
	evaluate > execute run
	react > reaction emoji
	rank sort order
	archive > close
	compress zip gzip
	lock protect
	scrape crawl extract
	monitor watch track
	debug troubleshoot diagnose
	debug troubleshoot diagnose > log console trace inspect
	remember memorize memorise > memory observation create add
	recall > search read memory
	choose pick select
	talk speak interact > message
	log > print
	travel drive > direction route distance
	tidy > cleanup clean delete
	simulate emulate mimic
	retry rerun
	group sum average > aggregate
	aggregate > sum group count
	repeat > echo
	mark > set update
	record film > screencast capture
	scan > audit security
	shortcut > press key
	tunnel expose > forward
	recommend suggest advise > advisor recommendation
	ship > deploy release
	grant > permission add
	fix repair > update
	say tell > message send post
	notify inform > message send notification
	visualize visualise draw plot > chart diagram
	favorite favourite bookmark > star
	append prepend > add insert
	overwrite > write update
	checkout > branch
	kick > remove
	walk > direction
	ls > list directory
	cat > read file
	rm > delete remove
	mkdir > create directory
	mv > move rename
	cp > copy
	grep > search
	ps > list process
	curl > fetch request
	bump > upgrade update
	upgrade > update
	refresh > reload update
	sync synchronize > update
	mute silence hide > disable
	provision spawn > create start
	obtain gather collect > get list
	detect identify > find get
	preview > view get
	calculate compute > count sum
	benchmark measure optimize > performance
	flush truncate > clear delete
	teardown > delete
	reorder > sort move
	reschedule postpone > update event
	apply > update
	tweet > post

	folder directory dir
	image picture photo
	picture photo > screenshot media
	email mail gmail
	inbox > email mail message
	ticket issue bug
	problem > issue bug error
	task todo
	reminder > task event
	pr > pull request
	mr > merge request
	pull > merge
	repo repository
	doc document documentation
	manual guide tutorial reference > documentation doc
	paper article publication
	page webpage
	site website
	website webpage site > page url web browser
	internet online > web
	user person member
	colleague coworker teammate employee staff > user member
	who myself whoami > user self
	author creator owner
	contact > person customer
	team group
	org organization
	company business organization
	message msg chat
	conversation thread
	dm > message
	thumb > reaction
	event meeting appointment
	invoice bill
	discount voucher promo promotion > coupon
	customer client buyer
	client customer > contact
	monthly plan subscriber > subscription
	chargeback > dispute
	money fund > balance payment
	price cost fee
	transaction > payment
	product item
	db database
	table > collection
	table row database > sql
	sheet spreadsheet excel
	row record entry
	row record > document
	column field property
	schema structure
	error exception failure
	fail crash break > error failure
	env environment
	config configuration
	setting preference option > configuration config
	auth authentication
	login signin
	credential secret password
	key > secret token
	url link uri
	address location
	location > geocode
	far > distance
	near nearby around > local place
	car > drive direction distance
	height high tall altitude mountain > elevation
	restaurant food eat > place local
	shop store business > place local
	telephone phone > call
	place location poi
	direction route
	forecast weather
	video clip movie
	song music audio
	metric statistic stat
	stat usage > count
	alert alarm
	popup > dialog
	ci pipeline workflow build
	job workflow > run
	automation > workflow
	cron > schedule job
	green pass success > status result
	flaky unstable unreliable
	history > log list
	memo > note
	memory knowledge > graph
	fact > observation
	relation relationship edge
	relationship > association link
	entity node
	js javascript
	ts typescript
	k8s kubernetes
	container pod
	rollout > deploy
	replica > scale
	pg postgres postgresql
	param parameter argument
	info information detail
	permission access role
	clock date > time
	today > current
	sql > query
	package library module dependency
	vm machine instance
	server host
	program process application app
	txt text
	cmd command
	shell terminal bash console
	button > click
	tab > page
	form > fill
	dropdown combo combobox option > select
	mobile viewport > emulate resize device
	dark night theme > color emulate
	slow slowly fast speed > performance
	traffic > network
	script > javascript evaluate
	style > css
	html dom > element
	disk drive > file directory storage
	big large > size
	size space > storage
	many several multiple batch bulk
	tree hierarchy
	graph chart diagram plot
	slide > presentation
	vulnerability security
	code source
	patch change > diff
	question > query ask
	backup dump > export
	migrate migration
	plugin addon extension
	lambda serverless > function
	room > channel
	md > markdown
	markdown > text
	paragraph > block text
	newest recent latest
	accessibility seo > audit
	latitude longitude coordinate > geocode location
	geocode > coordinate address
	attachment > file
	statement > sql query
	ram heap > memory
	cluster > kubernetes
	label tag
	assignee > assign user
	emoji > reaction
	avatar > image profile
	username account > user
	account > profile customer
	workspace > team organization
	token > credential key
	csv > spreadsheet
	output stdout > log
	incident outage > alert
	dashboard > chart
	changelog > release commit
	contributor > user author
	wiki > page documentation
	definition > schema describe
	domain hostname > url
	blob bucket > storage object
	consumption > usage
	spend > cost usage
	revenue income > payment balance
	receipt > invoice payment
	lead prospect > contact customer
	mouse > click hover
	keyboard > press key type
	snippet > code
	cd > pipeline deploy
	sdk framework > library documentation
	news headline > article search
	timezone > time
	datatype > type
	quota > limit usage
	summary > report
	film movie > video
	track song > music
	pdf > print document
	newsletter campaign
	basket cart
	stock inventory
	parcel shipment delivery
	vacation holiday absence
	temperature rain wind > weather forecast
	gps position > location
	country city town street postcode > location address
	airport hotel station > place
	currency > rate convert
	crypto bitcoin coin > price token
	certificate cert
	uptime downtime health > status
	latency > performance
	stacktrace traceback > error trace
	artifact > build output
	version > release
	commit revision
	gist > snippet code
	variable > environment config
	card backlog > task issue
	deadline due > date
	admin > user permission
	mailbox > email
	availability agenda slot > calendar event
	deck > presentation slide
	checklist > task
	cell > row column sheet
	vector > embed
	llm > model
	cpu > resource usage
	health > check

	plan > calendar event schedule task
	month monthly yearly annual recur > subscription
	lookup > get
	peek > view read list
	reveal uncover > show get
	supply provide > get list
	drop > remove
	revoke withdraw > delete remove cancel
	void > cancel refund
	reimburse > refund
	ban block kick > remove member user
	unblock unban > remove
	unlink detach disconnect unassign > remove
	insert put > add write
	put place > create set write
	establish initialize init > create setup
	brew prepare build > create generate
	author compose > write create
	augment extend expand > add update
	amend correct > update edit
	adjust tune alter > set update
	toggle flip switch > set enable disable turn
	activate deactivate > toggle set
	light lamp bulb > device switch turn
	heat thermostat > temperature climate
	speaker > volume play media
	play listen > start track song music
	resume continue > play start
	skip next > track
	lyric artist album > song music track
	stream broadcast > video channel
	channel subscriber > youtube
	caption subtitle > transcript
	transcribe transcription > transcript speech audio
	speech voice spoken aloud > audio speak text
	draw paint illustrate > image generate create
	crop rotate resize > image transform
	ocr > text image extract
	ask answer > query chat question
	chat > message conversation
	reply > send message
	forward > send
	inbox mailbox > email
	mail letter > message email send
	invite > add send attend
	attendee guest participant > event member
	meet > event meeting calendar
	slot free busy > availability calendar
	remind > reminder task create
	tomorrow tonight weekend week > forecast date
	sunny sunshine snow storm humid cloudy > weather forecast
	pollution smog > air quality
	trip journey itinerary vacation holiday > travel flight
	fly plane airline > flight
	room stay lodge accommodation > hotel
	rent rental apartment > property list
	train bus transit > route direction
	traffic > route
	commute > direction distance
	eat dine dinner lunch food > restaurant
	recipe cook meal dish > food
	share equity ticker > stock
	stock ticker quote > price
	exchange > rate convert currency
	euro dollar usd eur > currency exchange
	bitcoin ethereum crypto cryptocurrency wallet > token balance coin
	gain profit loss return > performance
	earn salary wage > income payroll
	debt owe > balance invoice
	bank > account transaction balance
	expense receipt spend > transaction
	tax vat > rate
	deal opportunity > lead
	prospect lead > deal
	crm > contact deal
	purchase > order checkout
	ship > delivery order
	wish wishlist > favorite
	opinion feedback > review
	headline press journalist > news
	tweet retweet > twitter
	subreddit reddit > post
	timeline feed > post
	follower > user
	hashtag trend > topic
	popular top best > trend rank
	encyclopedia wikipedia > article
	mean define dictionary > definition
	scholar academic scientific citation cite > paper
	journal publication preprint > paper
	read > content
	body text > content
	digest overview brief tldr > summary
	shorten condense > summarize
	grade mark exam > score
	course lesson class > lecture
	student pupil learner > user member
	worker > employee person
	boss manager supervisor > owner
	vacation absence leave > time
	hire recruit candidate > job applicant
	resume cv > profile
	kanban board > project
	sprint iteration milestone > board
	epic story > issue
	bug defect > issue error
	todo task > item
	due deadline overdue > task
	jot > note
	notebook vault > note
	backlink > link
	chapter section > page block
	pdf docx word > document
	powerpoint pptx ppt > slide presentation
	xlsx xls excel worksheet > sheet workbook
	formula > cell
	tabular csv tsv > table
	chart > graph
	merge > combine
	unzip unpack decompress > extract
	encrypt decrypt > encryption key
	password credential login > secret
	2fa mfa > authentication
	firewall > network rule
	ip dns nameserver > domain record
	ping reachable alive > status health
	port > network
	vm ec2 droplet instance > server
	docker > container
	namespace > kubernetes
	queue topic kafka > message
	cache redis > key
	index > search
	similarity semantic > vector search
	dataset > data table
	foreign primary > key
	procedure routine > function
	trigger hook webhook > event
	endpoint route > api
	request call > http api
	post put patch get > request
	scrape crawl > fetch page
	source view html > page content
	scroll swipe > page
	hover mouse > pointer
	element node widget > component
	layer frame shape > element node
	color colour > style
	render > image
	phone iphone android mobile > device
	compile > build
	lint format > check code
	coverage > test
	breakpoint step > debug
	refactor rename > symbol
	tag release > version
	dependency npm pypi pip > package
	vulnerable cve exploit > vulnerability security
	threat malware virus > security
	log audit trail > event
	trace span > log
	metric gauge > monitor
	oncall pager > incident
	bill > usage

	removal > remove
	addition > add
	retrieval > retrieve
	notification notify
	subscription > subscribe
	subscribe > subscription
	description > describe
	conversion > convert
	comparison > compare
	payment > pay
	approval > approve
	review > comment
	performance > trace profile
	distance > direction route
`
