// One server: how it does, its settings and its tools.

import * as api from '../api.js';
import {follow} from '../events.js';
import {h, replace, said, number, time, code, button} from '../dom.js';
import {list} from '../list.js';
import {spark} from '../spark.js';
import {actions, badge, command, isLocal, load, mayChange, next, trouble} from '../servers.js';
import {report} from '../report.js';

export function mount(root, ctx) {
  const status = h('section', {class: 'card', 'aria-label': 'State'});
  const settings = h('section', {class: 'card', 'aria-label': 'Settings'});
  const tested = h('section', {class: 'card', 'aria-label': 'Test', hidden: true});
  const tools = list({
    label: 'Tools', none: 'It has no tools now.', key: (tool) => tool.registeredName || tool.name,
    search: (tool) => `${tool.name} ${tool.registeredName ?? ''} ${tool.title ?? ''} ${tool.description ?? ''} ${tool.state}`,
    open: (tool) => ctx.go(api.at`/admin/tools/${tool.registeredName || tool.name}`),
    columns: [
      {title: 'Tool', class: 'wide', cell: (tool) => said(tool.registeredName || tool.name, {clamp: 100})},
      {title: 'Description', class: 'wide wide-only', cell: (tool) => said(tool.title || tool.description, {clamp: 200})},
      {title: 'State', cell: (tool) => said(tool.reason ? `${tool.state}: ${tool.reason}` : tool.state, {clamp: 120})},
    ],
  });
  const parts = [status, tested, settings, h('section', {class: 'view', 'aria-label': 'Tools'}, h('h2', {}, 'Tools'), tools.el)];
  let last = '';

  async function refresh() {
    const all = await ctx.attempt(() => load(ctx.signal));
    if (!all || ctx.signal.aborted) return;
    const found = all.find(({record}) => record.id === ctx.params.id) ?? all.find(({record}) => record.name === ctx.params.id);
    if (!found) {
      replace(root, h('p', {class: 'empty'}, 'There is no such server. ', h('a', {href: '/admin/servers'}, 'All servers')));
      replace(ctx.actions);
      last = '';
      return;
    }
    if (!status.isConnected) replace(root, parts); // it was removed, and is back
    const {record} = found;
    const [health, had] = await Promise.all([
      api.get(api.at`health/${record.name}`, {signal: ctx.signal}).catch(() => null),
      (record.transport
        ? api.get(api.at`mcp/servers/${record.id}/tools`, {signal: ctx.signal})
        : api.get('tools', {signal: ctx.signal}).then((all) => all.filter((tool) => tool.server === record.name))).catch(() => []),
    ]);
    if (ctx.signal.aborted) return;
    showStatus(record, found.live, health);
    const data = JSON.stringify(record);
    if (data !== last) showSettings(record);
    last = data;
    tools.show(had);
  }

  function showStatus(record, live, health) {
    const calls = live.calls ?? health?.health.calls;
    replace(status,
      h('div', {class: 'row'}, h('h2', {class: 'grow'}, 'State'), badge(live.stage)),
      health && h('p', {}, said(health.doing)),
      trouble(live.error, (health?.hints ?? []).map((hint) => hint.text)),
      next(live),
      h('dl', {class: 'figures'},
        pair('Tools', number(live.tools)),
        live.tokens !== undefined && pair('Tokens of context', number(live.tokens)),
        calls && pair('Calls', number(calls.ended)),
        calls && pair('Failed', number(calls.failed)),
        health?.program && pair('Program', said(`${health.program} ${health.version ?? ''}`, {clamp: 100})),
        health?.protocol && pair('Protocol', health.protocol),
        health?.health.process && pair('Process', String(health.health.process.pid)),
        health?.health.retryAt && pair('Next attempt', time(health.health.retryAt))),
      live.latencyMs && spark(live.latencyMs),
      h('p', {}, h('a', {href: api.at`/admin/activity?server=${record.name}`}, 'What happened at this server')));
  }

  function showSettings(record) {
    ctx.title(said(record.name, {clamp: 100}));
    const why = mayChange(ctx, record);
    replace(ctx.actions,
      button('Test', async () => {
        const result = await ctx.attempt(() => api.post(api.at`mcp/servers/${record.id}/test`));
        if (!result) return;
        tested.hidden = false;
        replace(tested, h('h2', {}, 'Test'), report(result, isLocal(record)));
      }, {why}),
      button('Edit', () => ctx.go(api.at`/admin/servers/${record.id}/edit`), {why}),
      actions(ctx, record, refresh, () => ctx.go('/admin/servers')));
    replace(settings, h('h2', {}, 'Settings'), h('dl', {},
      pair('Transport', said(record.transport || 'a part of the program')),
      record.url && pair('Address', said(record.url, {class: 'mono'})),
      record.command && pair('Command', code(command(record))),
      record.cwd && pair('Folder', said(record.cwd, {class: 'mono'})),
      record.headersJson && pair('Headers', code(pretty(record.headersJson))),
      record.envJson && pair('Variables', code(pretty(record.envJson))),
      record.connectTimeoutSeconds && pair('Connect within', `${record.connectTimeoutSeconds} s`),
      record.readTimeoutSeconds && pair('Answer within', `${record.readTimeoutSeconds} s`),
      record.createTime && pair('Added', time(`${record.createTime}Z`)),
      record.updateTime && pair('Changed', time(`${record.updateTime}Z`))));
  }

  replace(root, parts);
  follow(refresh, ctx.signal, (event) => !event.server || event.server === ctx.params.id || last.includes(JSON.stringify(event.server)));
}

function pair(name, ...value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}

function pretty(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
