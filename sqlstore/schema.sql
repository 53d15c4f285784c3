CREATE TABLE {p}records (
	namespace {name} NOT NULL,
	name {name} NOT NULL,
	data {bytes} NOT NULL,
	revision TEXT NOT NULL,
	PRIMARY KEY (namespace, name)
);
CREATE TABLE {p}leases (
	namespace {name} NOT NULL,
	name {name} NOT NULL,
	number BIGINT NOT NULL,
	until_ms BIGINT NOT NULL,
	PRIMARY KEY (namespace, name)
);
CREATE TABLE {p}activity (
	seq {serial},
	at_ns BIGINT NOT NULL,
	event_id TEXT NOT NULL,
	parent TEXT NOT NULL,
	kind TEXT NOT NULL,
	user_name TEXT NOT NULL,
	server TEXT NOT NULL,
	tool TEXT NOT NULL,
	outcome TEXT NOT NULL,
	error TEXT NOT NULL,
	duration_ns BIGINT NOT NULL,
	argument_bytes BIGINT NOT NULL,
	result_bytes BIGINT NOT NULL,
	argument_hash TEXT NOT NULL,
	arguments TEXT NOT NULL,
	detail TEXT NOT NULL
);
CREATE INDEX {i}activity_at ON {p}activity (at_ns);
CREATE INDEX {i}activity_event ON {p}activity (event_id);
CREATE INDEX {i}activity_user ON {p}activity (user_name, seq);
CREATE INDEX {i}activity_server ON {p}activity (server, seq)
