// What happened and happens, with filters that are in the address, to be exported.

import {get, isMissing} from '../api.js';
import {listen} from '../events.js';
import {h, replace, button, said, time, uid} from '../dom.js';
import {milliseconds} from '../spark.js';

const kinds = ['call', 'denied', 'approval', 'quarantined', 'rejected', 'login', 'logout', 'config', 'start', 'stop', 'replace', 'state', 'consent', 'dropped'];
const outcomes = ['ok', 'tool_error', 'error', 'unknown_tool', 'bad_arguments', 'denied', 'asked', 'approved', 'refused', 'quarantined', 'unknown', 'not_sent', 'cancelled', 'timeout', 'login_required', 'busy'];
const texts = ['server', 'tool', 'user'];
const times = ['since', 'until'];
const names = ['kind', 'outcome', ...texts, ...times, 'id', 'parent'];
const most = 1000; // rows that are shown, and asked for
const columns = ['time', 'kind', 'outcome', 'server', 'tool', 'user', 'durationNs', 'error', 'argumentBytes', 'resultBytes', 'argumentHash', 'id', 'parent', 'detail', 'arguments'];

export function mount(root, ctx) {
  const filter = Object.fromEntries(names.map((name) => [name, ctx.query.get(name) ?? '']));
  let events = []; // the newest first
  let asked = 0; // how often there was a question: an old answer is of no use
  const known = new Set(); // cursors of events
  const rows = h('tbody');
  const empty = h('p', {class: 'empty'});
  const table = h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Events'}, h('table', {},
    h('thead', {}, h('tr', {}, ['When', 'What', 'Where', 'User', 'Took', 'Outcome'].map((text) => h('th', {scope: 'col'}, text)))), rows));
  const choose = (name, values) => h('select', {}, h('option', {value: ''}, 'all'), values.map((value) => h('option', {value}, value.replaceAll('_', ' '))));
  const fields = {
    kind: choose('kind', kinds), outcome: choose('outcome', outcomes),
    ...Object.fromEntries(texts.map((name) => [name, h('input', {type: 'text', spellcheck: 'false'})])),
    ...Object.fromEntries(times.map((name) => [name, h('input', {type: 'datetime-local'})])),
  };
  for (const [name, field] of Object.entries(fields)) {
    field.value = times.includes(name) ? toLocal(filter[name]) : filter[name];
    field.addEventListener('change', () => {
      filter[name] = times.includes(name) && field.value ? new Date(field.value).toISOString() : field.value.trim();
      ctx.setQuery({[name]: filter[name]});
      load();
    });
  }
  const one = h('p', {class: 'note', hidden: !filter.id && !filter.parent}, 'One event and its parts are left out or shown by the address. ', h('a', {href: '/admin/activity'}, 'Show all'));
  replace(root, h('div', {class: 'filters'}, Object.entries(fields).map(([name, field]) => {
    field.id = uid();
    return h('div', {class: 'field'}, h('label', {for: field.id}, name), field);
  })), one, table, empty);
  ctx.actions.append(button('Export JSON lines', () => save('jsonl', 'application/jsonl', events.map((e) => JSON.stringify(e.event)))),
    button('Export CSV', () => save('csv', 'text/csv', [columns.join(','), ...events.map((e) => columns.map((c) => cell(e.event[c])).join(','))])));

  async function load() {
    const mine = ++asked;
    const query = new URLSearchParams(Object.entries({...filter, limit: most}).filter(([, value]) => value));
    try {
      const found = await get(`activity?${query}`, {signal: ctx.signal});
      if (mine !== asked) return;
      events = found;
      known.clear();
      for (const e of events) known.add(e.cursor);
      draw();
    } catch (err) {
      if (err.name === 'AbortError' || mine !== asked) return;
      events = [];
      draw(isMissing(err) ? 'The program shows no activity here.' : err.message);
    }
  }
  function draw(why = 'Nothing that matches has happened.') {
    replace(rows, events.map(row));
    empty.textContent = why;
    empty.hidden = events.length > 0;
    table.hidden = events.length === 0;
  }
  // wants reports whether an event passes the filter, as the API has it.
  function wants(e) {
    return ['kind', 'outcome', ...texts, 'id', 'parent'].every((name) => !filter[name] || e[name] === filter[name]) &&
      (!filter.since || new Date(e.time) >= new Date(filter.since)) && (!filter.until || new Date(e.time) < new Date(filter.until));
  }
  listen((event) => {
    if (event.type === 'reset') load();
    if (event.type !== 'event' || known.has(event.id) || !wants(event.data)) return;
    known.add(event.id);
    events.unshift({cursor: event.id, event: event.data});
    if (events.length > most) known.delete(events.pop().cursor);
    if (events.length === 1) draw();
    else rows.prepend(row(events[0]));
    while (rows.children.length > most) rows.lastChild.remove();
  }, ctx.signal);
  load();
}

function row({event: e}) {
  const kind = e.outcome === 'ok' || e.outcome === 'approved' ? 'good' : ['error', 'timeout', 'tool_error', 'unknown'].includes(e.outcome) ? 'bad' : e.outcome ? 'warn' : '';
  const detail = Object.entries(e.detail ?? {});
  return h('tr', {},
    h('td', {class: 'num'}, time(e.time)),
    h('td', {}, h('a', {href: `/admin/activity?${new URLSearchParams({id: e.id})}`}, e.kind)),
    h('td', {}, e.server && said(e.server), e.server && e.tool && ' / ', e.tool && said(e.tool)),
    h('td', {}, e.user ? said(e.user) : '–'),
    h('td', {class: 'num'}, e.durationNs ? milliseconds(e.durationNs / 1e6) : ''),
    h('td', {}, e.outcome && h('span', {class: `badge ${kind}`}, e.outcome.replaceAll('_', ' ')), ' ', e.error && said(e.error, {clamp: 300}),
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
