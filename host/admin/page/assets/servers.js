// What the views of servers share: how a server is described, and what can be done to it.

import * as api from './api.js';
import {h, said, button, plural} from './dom.js';

// fields are those of a record, in its form and among its settings. Those of kind local are for programs, those of kind remote for addresses.
export const fields = [
  {name: 'name', label: 'Name', hint: 'Tools are known by it, too.', required: true},
  {name: 'description', label: 'Description'},
  {name: 'command', kind: 'local', label: 'Command', hint: 'A program, by its path or as found in PATH. No shell reads it.', required: true},
  {name: 'argsJson', kind: 'local', label: 'Arguments', hint: 'One in each line.', form: 'lines'},
  {name: 'envJson', kind: 'local', label: 'Variables', hint: 'NAME=value in each line.', masked: true, form: '='},
  {name: 'cwd', kind: 'local', label: 'Folder'},
  {name: 'url', kind: 'remote', label: 'Address', hint: 'Such as https://example.com/mcp', required: true},
  {name: 'headersJson', kind: 'remote', label: 'Headers', hint: 'Name: value in each line.', masked: true, form: ':'},
  {name: 'connectTimeoutSeconds', label: 'Connect within (seconds)', form: 'number', rare: true},
  {name: 'readTimeoutSeconds', label: 'Answer within (seconds)', form: 'number', rare: true},
  {name: 'allow', path: ['tools', 'allow'], label: 'Tools that are offered', hint: 'Their names, one in each line. Empty: all.', form: 'lines', rare: true},
  {name: 'deny', path: ['tools', 'deny'], label: 'Tools that are left out', hint: 'Their names, one in each line.', form: 'lines', rare: true},
  {name: 'clientId', path: ['auth', 'clientId'], kind: 'remote', label: 'Client ID', hint: 'Of a login by OAuth, if the program is registered there by hand.', rare: true},
  {name: 'scopes', path: ['auth', 'scopes'], kind: 'remote', label: 'Scopes', hint: 'That a login asks for, one in each line. Empty: those that the server names.', form: 'lines', rare: true},
  {name: 'lazy', path: ['lazy'], label: 'Start it when a tool of it is called', form: 'check', rare: true},
  {name: 'required', path: ['required'], label: 'The program does not start without it', form: 'check', rare: true},
  {name: 'trust', path: ['trust'], label: 'Believe what its tools say of themselves, such as that they only read', form: 'check', rare: true},
  {name: 'rest', path: [], label: 'Other keys of its entry', hint: 'An object in JSON: auth, identity, idleTimeoutSeconds, isolation, limits, proxy, tls, tools, userHeader.', form: 'json', rare: true},
];

// stages are what the stages of a server are called, how they look, and how early they come in a list.
const stages = {
  invalid: ['bad', '▲', 'cannot be used', 0],
  waiting: ['bad', '▲', 'failing', 1],
  login: ['warn', '◆', 'needs a login', 2],
  not_allowed: ['warn', '◆', 'not allowed yet', 3],
  quarantined: ['warn', '◆', 'held back', 4],
  starting: ['', '◌', 'starting', 5],
  ready: ['good', '●', 'ready', 6],
  cached: ['', '○', 'starts when called', 7],
  configured: ['', '○', 'not started', 8],
  disabled: ['', '–', 'off', 9],
};

// rank says how early a server comes in a list: those that need a person come first.
export function rank(stage) {
  return stages[stage]?.[3] ?? 5;
}

// badge shows the stage of a server.
export function badge(stage) {
  const [name, sign, text] = stages[stage] ?? ['', '○', stage || 'unknown'];
  return h('span', {class: `badge ${name}`}, h('span', {'aria-hidden': 'true'}, sign), text);
}

// stageText returns what a stage is called.
export function stageText(stage) {
  return stages[stage]?.[2] ?? String(stage ?? 'unknown');
}

// toolStates are what the states of a tool are called, how they look, and what their kind is called.
const toolStates = {
  off: ['', '–', 'switched off', 'Switched off'],
 listed: ['good', '●', 'offered', 'Offered'], quarantined: ['warn', '◆', 'held back', 'Held back'], rejected: ['bad', '▲', 'not let in', 'Not let in'],
};

// toolText returns what the state of a tool is called; title begins with a capital.
export function toolText(state, title = false) {
  return toolStates[state]?.[title ? 3 : 2] ?? String(state);
}

// toolBadge shows the state of a tool.
export function toolBadge(state) {
  const [name, sign] = toolStates[state] ?? ['', '○'];
  return h('span', {class: `badge ${name}`}, h('span', {'aria-hidden': 'true'}, sign), toolText(state));
}

// isLocal reports whether a record is that of a process.
export function isLocal(record) {
  return record.local ?? (Boolean(record.command) || !['streamable_http', 'http', 'sse', 'auto', 'unix'].includes(record.transport));
}

// mayChange says why the caller may not change a server, or nothing.
export function mayChange(ctx, record) {
  if (record.elsewhere) return `its entry stands in ${record.source}: change it there, or copy it`;
  return record.builtin ? 'it is a part of the program' : mayStart(ctx, record);
}

function mayStart(ctx, record) {
  return isLocal(record) ? ctx.may('operate', 'stdio:write') : ctx.may('operate');
}

// actions returns what can be done to a server, by name, as {text, act, why, danger}. after is called when something was
// done; of a removal it gets the path that takes it back.
export function actions(ctx, record, after) {
  const why = mayChange(ctx, record);
  const act = (text, f, options) => ({text, why, ...options, act: async () => {
    const done = await ctx.attempt(async () => ({back: await f()}));
    ctx.changed();
    await after(done?.back);
  }});
  return {
    toggle: act(record.enabled ? 'Disable' : 'Enable', async () => {
      await api.put(api.at`mcp/servers/${record.id}/toggle?enabled=${!record.enabled}`);
      return {};
    }, {why: record.enabled && !record.builtin ? ctx.may('operate') : why}),
    restart: record.enabled && act('Restart', async () => {
      const {stage, error} = await api.post(api.at`servers/${record.name}/restart`);
      ctx.say(error ? `${record.name}: ${error}` : `${record.name} is ${stageText(stage)}.`, {failed: Boolean(error)});
    }, {why: mayStart(ctx, record)}),
    remove: act('Remove', async () => {
      const {restore} = await api.del(api.at`mcp/servers/${record.id}`);
      ctx.tell(`${record.name} was removed.`);
      return {restore};
    }, {danger: true}),
  };
}

// removed says at its place that a server was removed; after is called when that was taken back.
export function removed(ctx, name, {restore}, after) {
  return h('div', {class: 'row'}, h('span', {}, said(name, {clamp: 100}), ' was removed.'), restore && button('Undo', async () => {
    if (await ctx.attempt(() => api.post(restore))) ctx.tell(`${name} is back.`);
    ctx.changed();
    await after();
  }, {why: ctx.may('operate')}));
}

// command returns the exact command of a record, one argument in each line if there are many.
export function command(record) {
  let args = [];
  try {
    args = JSON.parse(record.argsJson || '[]');
  } catch {
    args = [record.argsJson];
  }
  const quoted = [record.command, ...args].map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : JSON.stringify(part)));
  return quoted.join(quoted.length > 6 ? ' \\\n  ' : ' ');
}

// plainly returns an error without the names of packages, which are for programmers.
export function plainly(error) {
  return String(error ?? '').replace(/(^|: )(?:(?:auth|host|mcp|session|transport): )+/g, '$1');
}

// trouble shows why a server does not work and what would cure that.
export function trouble(error, cures = [], clamp = 400) {
  const given = cures.filter(Boolean);
  if (!error && given.length === 0) return null;
  return h('div', {class: error ? 'note bad' : 'note warn'},
    error && h('p', {}, h('strong', {}, 'Cause: '), said(plainly(error), {clamp})),
    given.map((cure) => h('p', {}, error && h('strong', {}, 'Cure: '), said(cure, {clamp}))));
}

// next returns a link to where a person goes on, if a server waits for one.
export function next(live) {
  if (live.stage === 'login') return h('a', {href: api.at`/admin/logins?server=${live.name}`}, 'Log in');
  if (live.stage === 'not_allowed') return h('a', {href: '/admin/launches'}, 'Look at its command');
  const held = live.quarantined || live.stage === 'quarantined';
  return held ? h('a', {href: api.at`/admin/changes?server=${live.name}`}, live.quarantined ? `Review what is held back: ${plural(live.quarantined, 'tool')}` : 'Review its tools') : null;
}

// recordOf returns the record of a server as far as it can be told from how it does.
export function recordOf(row) {
  return {id: row.id ?? row.name, name: row.name, enabled: row.stage !== 'disabled', builtin: row.builtin ?? true, local: row.local, ...(!row.id && {elsewhere: true, source: 'another file, or is a part of the program'})};
}
