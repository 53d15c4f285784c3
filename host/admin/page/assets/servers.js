// What the views of servers share: how a server is described, and what can be done to it.

import * as api from './api.js';
import {h, said, button, number} from './dom.js';

// stages are what the stages of a server are called, and how they look.
const stages = {
  ready: ['good', '●', 'ready'],
  starting: ['', '◌', 'starting'],
  cached: ['', '○', 'starts when called'],
  configured: ['', '○', 'not started'],
  disabled: ['', '–', 'disabled'],
  waiting: ['bad', '▲', 'failed, tried again'],
  invalid: ['bad', '▲', 'cannot be used'],
  login: ['warn', '◆', 'wants a login'],
  not_allowed: ['warn', '◆', 'not allowed'],
  quarantined: ['warn', '◆', 'in quarantine'],
};

// badge shows the stage of a server.
export function badge(stage) {
  const [name, sign, text] = stages[stage] ?? ['', '○', stage || 'unknown'];
  return h('span', {class: `badge ${name}`}, h('span', {'aria-hidden': 'true'}, sign), text);
}

// stageText returns what a stage is called.
export function stageText(stage) {
  return stages[stage]?.[2] ?? String(stage ?? 'unknown');
}

// isLocal reports whether a record is that of a process.
export function isLocal(record) {
  return record.local ?? (Boolean(record.command) || !['streamable_http', 'http', 'sse', 'auto', 'unix'].includes(record.transport));
}

// mayChange says why the caller may not change a server, or nothing.
export function mayChange(ctx, record) {
  return record.builtin ? 'it is a part of the program' : mayStart(ctx, record);
}

function mayStart(ctx, record) {
  return isLocal(record) ? ctx.may('operate', 'stdio:write') : ctx.may('operate');
}

// actions returns the buttons for a server; after is called when one of them has done something, gone when the
// server was removed.
export function actions(ctx, record, after, gone = after) {
  const why = mayChange(ctx, record);
  const act = (text, f, options) => button(text, async () => {
    const then = await ctx.attempt(async () => (await f(), text === 'Remove' ? gone : after));
    ctx.changed();
    await (then ?? after)();
  }, {why, ...options});
  return [
    act(record.enabled ? 'Disable' : 'Enable', () => api.put(api.at`mcp/servers/${record.id}/toggle?enabled=${!record.enabled}`),
      {why: record.enabled && !record.builtin ? ctx.may('operate') : why}),
    record.enabled && act('Restart', async () => {
      const {stage, error} = await api.post(api.at`servers/${record.name}/restart`);
      ctx.say(error ? `${record.name}: ${error}` : `${record.name} is ${stageText(stage)}.`, {failed: Boolean(error)});
    }, {why: mayStart(ctx, record)}),
    act('Remove', async () => {
      const {restore} = await api.del(api.at`mcp/servers/${record.id}`);
      const back = restore && {text: 'Undo', action: async () => {
        if (await ctx.attempt(() => api.post(restore))) ctx.say(`${record.name} is back.`);
        ctx.changed();
      }};
      ctx.say(`${record.name} was removed.`, {back});
    }, {class: 'danger'}),
  ];
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

// trouble shows why a server does not work and what would cure that.
export function trouble(error, cures = [], clamp = 400) {
  const given = cures.filter(Boolean);
  if (!error && given.length === 0) return null;
  return h('div', {class: error ? 'note bad' : 'note warn'},
    error && h('p', {}, h('strong', {}, 'Cause: '), said(error, {clamp})),
    given.map((cure) => h('p', {}, error && h('strong', {}, 'Cure: '), said(cure, {clamp}))));
}

// next returns a link to where a person goes on, if a server waits for one.
export function next(live) {
  if (live.stage === 'login') return h('a', {href: '/admin/logins'}, 'Log in');
  if (live.stage === 'not_allowed') return h('a', {href: '/admin/launches'}, 'Look at its command');
  const held = live.quarantined || live.stage === 'quarantined';
  return held ? h('a', {href: api.at`/admin/changes?server=${live.name}`}, live.quarantined ? `Look at what waits to be accepted: ${number(live.quarantined)}` : 'Look at its tools') : null;
}

// load returns the servers: their records, with how they do now.
export async function load(signal) {
  const [records, live] = await Promise.all([api.get('mcp/servers', {signal}), api.get('servers', {signal})]);
  const byID = new Map(live.map((row) => [row.id ?? row.name, row]));
  const merged = records.map((record) => ({record, live: byID.get(record.id) ?? liveOf(record)}));
  const known = new Set(records.map((record) => record.id));
  return [...merged, ...live.filter((row) => !known.has(row.id ?? row.name)).map((row) => ({record: recordOf(row), live: row}))];
}

// liveOf tells how a server does from its record alone.
function liveOf(record) {
  return {name: record.name, id: record.id, stage: record.stage ?? (record.enabled ? '' : 'disabled'), tools: record.toolCount, error: record.lastError};
}

// recordOf returns what is known of a server without a record: it is one of the program, which the page cannot change.
function recordOf(row) {
  return {id: row.id ?? row.name, name: row.name, enabled: row.stage !== 'disabled', builtin: true, local: row.local};
}
