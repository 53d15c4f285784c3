package bm25

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestStem(t *testing.T) {
	// The first word is the stem of all up to the comma.
	const table = `
		access accesses accessed accessing, add adds added adding, address addresses addressed, alias aliases,
		analyze analyzes analyzed analyzing, announce announces announced announcing, api apis,
		approve approves approved approving, archive archives archived archiving, arrange arranges arranged arranging,
		assign assigns assigned assigning, attach attaches attached attaching, base bases based, branch branches branched,
		bring brings bringing, browse browses browsed browsing, build builds built, bus buses, cache caches,
		calculate calculated calculating, call calls called calling, cancel cancels cancelled canceled canceling,
		canvas canvases, category categories, change changes changed changing, child children, class classes,
		clear clears cleared clearing, clone clones cloned cloning, close closes closed closing, code codes coded coding,
		column columns, combine combines combined combining, commit commits committed committing,
		compare compares compared comparing, compile compiles compiled compiling, complete completes completed completing,
		compute computes computed computing, configure configures configured configuring,
		connect connects connected connecting, convert converts converted converting, copy copies copied copying,
		create creates created creating, data, database databases, debug debugs debugged debugging,
		define defines defined defining, delete deletes deleted deleting, deploy deploys deployed deploying,
		describe describes described describing, directory directories, disable disables disabled disabling, dns,
		download downloads downloaded downloading, drag drags dragged dragging, edit edits edited editing,
		embed embeds embedded embedding, enable enables enabled enabling, encode encodes encoded encoding, event events,
		execute executes executed executing, export exports exported exporting, fetch fetches fetched fetching,
		file files filed filing, fill fills filled filling, filter filters filtered filtering, find finds found finding,
		fix fixes fixed fixing, float floats floating, focus focuses focused focusing, format formats formatted formatting,
		generate generates generated generating, get gets getting, handle handles handled handling, hide hides hidden hiding,
		history histories, hover hovers hovered hovering, id ids, ignore ignores ignored ignoring, image images,
		import imports imported importing, include includes included including, index indexes indices indexed indexing,
		install installs installed installing, invite invites invited inviting, invoice invoices invoiced invoicing,
		invoke invokes invoked invoking, issue issues issued issuing, key keys, label labels labeled labelled labeling,
		leave leaves leaving, like likes liked liking, link links linked linking, list lists listed listing,
		load loads loaded loading, log logs logged logging, login logins, make makes made making,
		manage manages managed managing, map maps mapped mapping, measure measures measured measuring, menu menus,
		merge merges merged merging, message messages messaging, metric metrics, modify modifies modified modifying,
		monitor monitors monitored monitoring, move moves moved moving, movie movies, name names named naming,
		navigate navigates navigated navigating, need needs needed, note notes noted, notify notifies notified notifying,
		open opens opened opening, order orders ordered ordering, page pages paged paging, parse parses parsed parsing,
		pause pauses paused pausing, permission permissions, person people, ping pings pinged pinging,
		plan plans planned planning, play plays played playing, pod pods, prepare prepares prepared preparing,
		press presses pressed pressing, process processes processed processing, profile profiles profiled profiling,
		provide provides provided providing, publish publishes published publishing, purchase purchases purchased purchasing,
		query queries queried querying, queue queues queued queuing, raise raises raised raising, read reads reading,
		receive receives received receiving, redis, release releases released releasing, remove removes removed removing,
		rename renames renamed renaming, repeat repeats repeated repeating, replace replaces replaced replacing,
		reply replies replied replying, repo repos, require requires required requiring, reset resets resetting,
		resize resizes resized resizing, resolve resolves resolved resolving, response responses,
		restart restarts restarted restarting, restore restores restored restoring, resume resumes resumed resuming,
		retrieve retrieves retrieved retrieving, reuse reuses reused reusing, revert reverts reverted reverting,
		review reviews reviewed reviewing, rotate rotates rotated rotating, route routes routed routing, run runs running,
		save saves saved saving, scale scales scaled scaling, scan scans scanned scanning,
		schedule schedules scheduled scheduling, schema schemas, scrape scrapes scraped scraping,
		scroll scrolls scrolled scrolling, search searches searched searching, send sends sent sending, set sets,
		share shares shared sharing, ship ships shipped shipping, show shows showed shown showing, size sizes sized,
		sort sorts sorted sorting, space spaces, star stars starred starring, start starts started starting, status statuses,
		stop stops stopped stopping, store stores stored storing, stream streams streamed streaming, string strings,
		submit submits submitted submitting, subscribe subscribes subscribed subscribing, switch switches switched switching,
		sync syncs synced syncing, tag tags tagged tagging, take takes taken taking, test tests tested testing, thing things,
		this, trace traces traced tracing, track tracks tracked tracking, transaction transactions,
		translate translates translated translating, trigger triggers triggered triggering, type types typed typing,
		unsubscribe unsubscribed, update updates updated updating, upgrade upgrades upgraded upgrading,
		underuse underused underusing, upload uploads uploaded uploading, url urls, use uses used using, user users,
		validate validates validated validating, video videos, view views viewed viewing, virus viruses,
		wait waits waited waiting, watch watches watched watching, write writes wrote written writing, zip zips zipped zipping`
	for group := range strings.SplitSeq(table, ",") {
		words := strings.Fields(group)
		for _, w := range words {
			assert.Equal(t, Stem(w), words[0], "%s", w)
		}
	}
	for _, w := range []string{"", "a", "is", "s3", "ipv4s", "été", "删除", "Issues", strings.Repeat("s", 40), "user-ids"} {
		assert.Equal(t, Stem(w), w)
	}
}
