// Package toolcorpus holds the tools of real servers, as they were served, and
// queries with judgements of which of these tools a query means. It is the ground
// that tests and benchmarks of search, of provider profiles and of token counts
// stand on; nothing else imports it.
//
// # Servers
//
// testdata/servers.json says which npm packages were started, in which version and
// how; testdata/servers holds the array "tools" of each, all pages, in the order of
// the server; testdata/licences the licences that the packages came with, all of
// them MIT or Apache-2.0; testdata/tokens.json how many tokens each definition has.
// To make these files again, with Node.js 20 or later:
//
//	mkdir -p bin/toolcorpus && cp internal/toolcorpus/record/package.json bin/toolcorpus
//	(cd bin/toolcorpus && npm install --ignore-scripts)
//	node internal/toolcorpus/record/record.mjs bin/toolcorpus
//
// The last command takes names of servers to make only these. It gives a server 20
// seconds, an empty folder, no account, and no variable of its own environment but
// PATH. There is no lock file: the versions of the servers are exact in package.json,
// and what was recorded is here.
//
// # Queries
//
// testdata/queries.json holds what people and models may type to find one of these
// tools, and a grade for every tool that helps. Queries and grades were written from
// the lists alone, before any search ran on them. They are of nine kinds, which begin
// their ids: phrase, sentence, identifier, synonym (the tool has other words), form
// (plurals, -ing, -ed), typo, product (it names one), parameter (what matters is an
// argument), and vague. Within a kind they belong to the tuning half and to the
// held-out half by turns. To improve a search, look at the tuning half only;
// of the other half only the measures are read, see [NDCG5] and [Recall5]. Some
// queries of the two halves look for the same tool; [Unseen] leaves these out.
//
// The judgements are of this very corpus: judge again when other versions are recorded.
package toolcorpus
