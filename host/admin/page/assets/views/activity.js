// What happened and happens, with filters that are in the address, to be exported.

import {get, isMissing} from '../api.js';
import {listen} from '../events.js';
import {h, replace, button, said, time, uid} from '../dom.js';
import {plainly, stageText} from '../servers.js';
import {milliseconds} from '../spark.js';

const kinds = ['call', 'denied', 'approval', 'quarantined', 'rejected', 'login', 'logout', 'config', 'start', 'stop', 'replace', 'state', 'consent', 'accept', 'dropped'];
const outcomes = ['ok', 'tool_error', 'error', 'unknown_tool', 'bad_arguments', 'denied', 'asked', 'approved', 'refused', 'quarantined', 'unknown', 'not_sent', 'cancelled', 'timeout', 'login_required', 'busy'];
const texts = ['server', 'tool', 'user'];
const times = ['since', 'until'];
const labels = {q: 'search'};
const names = ['q', 'kind', 'outcome', ...texts, ...times, 'id', 'parent'];
const most = 200; // events that are asked for at a time
const mostRows = 5000; // that are shown
const columns = ['time', 'kind', 'outcome', 'server', 'tool', 'user', 'durationNs', 'error', 'argumentBytes', 'resultBytes', 'argumentHash', 'id', 'parent', 'detail', 'arguments'];

export function mount(root, ctx) {
  const filter = Object.fromEntries(names.map((name) => [name, ctx.query.get(name) ?? '']));
  let events = []; // the newest first
  let drawing = null; // the timer after which new events are shown
  let asked = 0; // how often there was a question: an old answer is of no use
  const known = new Set(); // cursors of events
  const rows = h('tbody');
  const empty = h('p', {class: 'empty'});
  const table = h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Events'}, h('table', {class: 'stacked events'},
    h('thead', {}, h('tr', {}, ['When', 'What', 'Where', 'Who', 'Took', 'Outcome'].map((text) => h('th', {scope: 'col'}, text)))), rows));
  const choose = (name, values) => h('select', {}, h('option', {value: ''}, 'all'), values.map((value) => h('option', {value}, value.replaceAll('_', ' '))));
  let waiting = null; // the timer of a search
  const fields = {
    q: h('input', {type: 'search', spellcheck: 'false', placeholder: 'Server, tool, user or error', oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => apply('q', fields.q.value.trim()), 200);
    }}),
    kind: choose('kind', kinds), outcome: choose('outcome', outcomes),
    ...Object.fromEntries(times.map((name) => [name, h('input', {type: 'datetime-local'})])),
  };
  for (const [name, field] of Object.entries(fields)) {
    field.value = times.includes(name) ? toLocal(filter[name]) : filter[name];
    if (name !== 'q') field.addEventListener('change', () => apply(name, times.includes(name) && field.value ? new Date(field.value).toISOString() : field.value.trim()));
  }
  function apply(name, value) {
    if (filter[name] === value) return;
    filter[name] = value;
    ctx.setQuery({[name]: value});
    load();
  }
  const fixed = [...texts, 'id', 'parent'].filter((name) => filter[name]);
  const one = h('p', {class: 'note', hidden: fixed.length === 0}, 'Shown are events with ', fixed.map((name, i) => [i > 0 && ', ', `${name} `, said(filter[name], {clamp: 80})]), ' alone. ',
    h('a', {href: '/admin/activity'}, 'Show all'));
  const older = button('Show older ones', () => more(), {});
  older.hidden = true;
  replace(root, h('div', {class: 'filters'}, Object.entries(fields).map(([name, field]) => {
    field.id = uid();
    return h('div', {class: 'field'}, h('label', {for: field.id}, labels[name] ?? name), field);
  })), one, table, h('div', {class: 'actions'}, older), empty);
  ctx.actions.append(button('Export JSON lines', () => save('jsonl', 'application/jsonl', events.map((e) => JSON.stringify(e.event)))),
    button('Export CSV', () => save('csv', 'text/csv', [columns.join(','), ...events.map((e) => columns.map((c) => cell(e.event[c])).join(','))])));

  async function load() {
    const mine = ++asked;
    try {
      const found = await page();
      if (mine !== asked) return;
      events = [];
      known.clear();
      add(found);
    } catch (err) {
      if (err.name === 'AbortError' || mine !== asked) return;
      events = [];
      draw(isMissing(err) ? 'The program shows no activity here.' : err.message);
    }
  }
  // page asks for events: the newest, or those before the one of a cursor.
  function page(before = '') {
    const query = new URLSearchParams(Object.entries({...filter, before, limit: most}).filter(([, value]) => value));
    return get(`activity?${query}`, {signal: ctx.signal});
  }
  function add(found) {
    const fresh = found.filter((e) => !known.has(e.cursor));
    for (const e of fresh) known.add(e.cursor);
    events.push(...fresh);
    older.hidden = found.length < most;
    draw();
  }
  async function more() {
    const mine = asked;
    const found = await ctx.attempt(() => page(events.at(-1)?.cursor));
    if (found && mine === asked) add(found);
  }
  function draw(why = 'Nothing that matches has happened.') {
    const at = rows.contains(document.activeElement) && document.activeElement.getAttribute('href');
    replace(rows, folded(events).map(row));
    if (at) [...rows.querySelectorAll('a')].find((link) => link.getAttribute('href') === at)?.focus();
    empty.textContent = why;
    empty.hidden = events.length > 0;
    table.hidden = events.length === 0;
  }
  // wants reports whether an event passes the filter, as the API has it.
  function wants(e) {
    const all = [e.server, e.tool, `${e.server}__${e.tool}`, e.detail?.name, e.user, e.detail?.by, e.error].join('\n').toLowerCase();
    return ['kind', 'outcome', ...texts, 'id', 'parent'].every((name) => !filter[name] || e[name] === filter[name]) && all.includes(filter.q.toLowerCase()) &&
      (!filter.since || new Date(e.time) >= new Date(filter.since)) && (!filter.until || new Date(e.time) < new Date(filter.until));
  }
  listen((event) => {
    if (event.type === 'reset') load();
    if (event.type !== 'event' || known.has(event.id) || !wants(event.data)) return;
    known.add(event.id);
    events.unshift({cursor: event.id, event: event.data});
    if (events.length > mostRows) known.delete(events.pop().cursor);
    drawing ??= setTimeout(() => {
      drawing = null;
      if (!ctx.signal.aborted) draw();
    }, 200);
  }, ctx.signal);
  load();
}

// folded returns what is shown of events: those of a server that comes from one state to the next, again and again, as the
// newest of them with how many they are, and since when.
function folded(events) {
  const shown = [];
  const open = new Map(); // by server: what the older ones are folded into
  for (const {event} of events) {
    const isState = event.kind === 'state' && event.detail?.to !== 'ready';
    const into = open.get(event.server);
    if (isState && into && (!event.error || into.event.error === event.error)) {
      into.times += 1;
      into.since = event.time;
      continue;
    }
    const one = {event, times: 1};
    shown.push(one);
    if (isState) open.set(event.server, one);
    else if (event.kind === 'state') open.delete(event.server);
  }
  return shown;
}

// happened returns what an event is called.
function happened(e) {
  const change = e.detail?.change;
  if (e.kind === 'config' && change) return `config: ${change}`;
  if (e.kind === 'state' && e.detail?.to) return e.error && e.detail.to === 'starting' ? stageText('waiting') : stageText(e.detail.to);
  return e.kind.replaceAll('_', ' ');
}

function row({event: e, times, since}) {
  const kind = e.outcome === 'ok' || e.outcome === 'approved' ? 'good' : ['error', 'timeout', 'tool_error', 'unknown'].includes(e.outcome) ? 'bad' : e.outcome ? 'warn' : '';
  const {by, ...others} = e.detail ?? {};
  if (e.kind === 'state') for (const name of ['from', 'to']) delete others[name]; // it is said already
  if (others.name === `${e.server}__${e.tool}`) delete others.name; // it is there already
  if (others.tools) delete others.count; // they are counted by their names
  const detail = Object.entries(others);
  const who = e.user || by;
  return h('tr', {},
    h('td', {class: 'num'}, time(e.time)),
    h('td', {}, h('a', {href: `/admin/activity?${new URLSearchParams({id: e.id})}`}, happened(e)), times > 1 && h('div', {class: 'weak'}, `×${times} since `, time(since))),
    h('td', {}, e.server && said(e.server), e.server && e.tool && ' / ', e.tool && said(e.tool)),
    h('td', {}, who && said(who), e.user && by && [' by ', said(by)]),
    h('td', {class: 'num'}, e.durationNs ? milliseconds(e.durationNs / 1e6) : ''),
    h('td', {class: 'outcome'}, e.outcome && h('span', {class: `badge ${kind}`}, e.outcome.replaceAll('_', ' ')), ' ', e.error && said(plainly(e.error), {clamp: 200}),
      detail.length > 0 && h('div', {class: 'weak'}, detail.map(([name, value]) => [`${name} `, said(value, {clamp: 200}), ' ']))));
}

// cell formats a value for CSV; a program for tables takes none for a formula.
function cell(value) {
  let text = typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');
  if (/^[=+\-@\t\r]/.test(text) && typeof value !== 'number') text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// save has the browser keep lines as a file.
function save(ending, type, lines) {
  const url = URL.createObjectURL(new Blob([lines.map((line) => `${line}\n`).join('')], {type}));
  const link = h('a', {download: `activity.${ending}`});
  link.href = url;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// toLocal formats a time as a field for times has it.
function toLocal(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? '' : new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}
