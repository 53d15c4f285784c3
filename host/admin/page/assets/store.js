// How the servers are and what waits for a person: asked for once for the navigation and all views, and kept up by what happens.

import {get, onChange} from './api.js';
import {follow} from './events.js';

const parts = ['servers', 'launches', 'calls'];
const tries = ['starting', 'waiting']; // stages between which a server goes that is tried again
const kept = 30; // latencies of a server
const watchers = new Set();
const failures = new Map(); // by server: the error of its last attempt
let now = {servers: null, launches: [], calls: [], error: ''};

// begin keeps it up until the session ends. elsewhere reports whether calls may wait on other replicas.
export function begin(signal, elsewhere) {
  now = {servers: null, launches: [], calls: [], error: ''};
  failures.clear();
  const soon = follow(() => load(signal), signal, matters, elsewhere);
  onChange(soon);
}

// watch calls f with what there is now, if that is known, and whenever it has changed, until the signal is aborted.
export function watch(f, signal) {
  watchers.add(f);
  signal.addEventListener('abort', () => watchers.delete(f));
  if (now.servers || now.error) f(now);
}

function tell() {
  for (const f of [...watchers]) f(now);
}

async function load(signal) {
  const found = await Promise.all(parts.map((part) => get(part, {signal}).catch((err) => err)));
  if (signal.aborted) return;
  const next = {error: ''};
  parts.forEach((part, i) => {
    if (!(found[i] instanceof Error)) next[part] = found[i];
    else if (part === 'servers') next.error = found[i].message;
  });
  now = {...now, ...next};
  tell();
}

// matters reports whether an event says that there is something else now. What it says itself is not asked for again.
function matters(e) {
  const row = now.servers?.find(({name}) => name === e.server);
  if (e.kind === 'call' && row && ['ok', 'tool_error'].includes(e.outcome)) {
    row.calls = {...row.calls, ended: row.calls.ended + 1};
    if (e.detail?.ran !== 'no') row.latencyMs = [...row.latencyMs, Math.round((e.durationNs ?? 0) / 1e6)].slice(-kept);
    tell();
    return false;
  }
  if (e.kind === 'state') {
    const text = (e.error ?? '').replace(/\d+/g, '');
    const before = failures.get(e.server);
    if (text) failures.set(e.server, text);
    const isTry = row && tries.includes(row.stage) && tries.includes(e.detail?.to);
    if (!isTry || (text && before !== undefined && before !== text) || (text && !row.error)) return true;
    return false; // it is as bad as before
  }
  return e.kind !== 'dropped';
}
