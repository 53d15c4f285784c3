// What happens, as it happens. All views share one stream of server-sent events, which is open while one of them listens.

import {send, stream, isMissing} from './api.js';

const firstWait = 500; // milliseconds until the stream is opened again
const longestWait = 15000;
const silence = 45000; // is how long a stream may be silent: it has a sign of life each 15 seconds
const polling = 5000; // between looks at what no event tells of
const opening = 1000; // for the stream, before a view asks for what there is without it

const listeners = new Set();
let running = null; // the AbortController of the stream
let lastID = '';
let state = 'closed';

// listen calls f with each event until the signal is aborted. There is {type: 'event', id, data},
// {type: 'reset'} (events are missing, as where the stream opens: ask for what there is), and {type: 'state', state}, whose state is live, lost
// or polling (a program that has no events: there is a reset now and then).
export function listen(f, signal) {
  if (signal.aborted) return;
  listeners.add(f);
  f({type: 'state', state});
  signal.addEventListener('abort', () => {
    listeners.delete(f);
    if (listeners.size === 0) stop();
  });
  begin();
}

// begin opens the stream, unless it is open or not wanted now.
function begin() {
  if (running || listeners.size === 0 || document.hidden) return;
  running = new AbortController();
  run(running.signal);
}

// rest ends the stream of a page that is out of sight, or that the browser keeps to show it again: there are only six
// connections for all pages of an origin. It goes on where it was when the page is back.
function rest() {
  if (!running) return;
  running.abort();
  running = null;
  tell({type: 'state', state: 'lost'});
}

addEventListener('pagehide', rest);
addEventListener('pageshow', begin);
document.addEventListener('visibilitychange', () => (document.hidden ? rest() : begin()));

// stop ends the stream. What is missed meanwhile is not told later: views begin with what there is.
export function stop() {
  running?.abort();
  running = null;
  lastID = '';
  state = 'closed';
}

function tell(event) {
  if (event.type === 'state') {
    if (state === event.state) return;
    state = event.state;
  }
  for (const f of [...listeners]) f(event);
}

async function run(signal) {
  let wait = firstWait;
  while (!signal.aborted) {
    try {
      if (await read(signal)) wait = firstWait;
    } catch (err) {
      if (signal.aborted || err.status === 401) return;
      if (isMissing(err)) {
        tell({type: 'state', state: 'polling'});
        await pause(polling, signal);
        if (!signal.aborted) tell({type: 'reset'});
        continue;
      }
    }
    if (signal.aborted) return;
    tell({type: 'state', state: 'lost'});
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(2 * wait, longestWait);
  }
}

// read reads one stream to its end, and reports whether there was one.
async function read(signal) {
  const silent = new AbortController();
  const give = () => silent.abort();
  const both = AbortSignal.any([signal, silent.signal]);
  let timer = setTimeout(give, silence);
  try {
    const headers = lastID ? {'Last-Event-ID': lastID} : {};
    const res = await send('GET', 'events?fold=true', {signal: both, headers});
    tell({type: 'state', state: 'live'});
    if (!lastID) tell({type: 'reset'}); // no event tells of what happened before
    for await (const fields of stream(res)) {
      clearTimeout(timer);
      timer = setTimeout(give, silence);
      take(fields);
    }
    return true;
  } finally {
    clearTimeout(timer);
  }
}

// take reads one event.
function take(fields) {
  if (fields.event === 'reset') tell({type: 'reset'});
  if (!fields.id) return;
  lastID = fields.id;
  try {
    tell({type: 'event', id: fields.id, data: JSON.parse(fields.data)});
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
  }
}

function pause(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      done();
    }, {once: true});
  });
}

// follow calls load when the stream is open, at the latest after a second, and again when what matters has happened, but not more often than once in
// a second: for views that show what there is now. matters may be absent: all events matter. While elsewhere returns true, load
// is called every five seconds besides: no event tells what happens at other replicas.
export function follow(load, signal, matters = () => true, elsewhere = null) {
  let timer = null;
  let last = 0;
  let busy = false;
  let again = false;
  async function run() {
    timer = null;
    if (signal.aborted) return;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    last = Date.now();
    try {
      await load();
    } finally {
      busy = false;
      if (again) soon();
      again = false;
    }
  }
  function soon() {
    timer ??= setTimeout(run, Math.max(last && 50, last + 1000 - Date.now()));
  }
  listen((event) => {
    if (event.type === 'reset' && !last) {
      clearTimeout(timer);
      timer = null;
    }
    if (event.type === 'reset' || (event.type === 'event' && matters(event.data))) soon();
  }, signal);
  if (elsewhere) {
    const ticker = setInterval(() => { if (!document.hidden && elsewhere()) soon(); }, polling);
    signal.addEventListener('abort', () => clearInterval(ticker));
  }
  if (state === 'closed') timer ??= setTimeout(run, opening);
  else run();
  return soon;
}
