// One server: how it does, its settings and its tools.

import * as api from '../api.js';
import {listen} from '../events.js';
import {h, replace, renew, said, number, plural, time, code, button} from '../dom.js';
import {list} from '../list.js';
import {menu} from '../menu.js';
import {spark} from '../spark.js';
import {actions, badge, command, fields, isLocal, mayChange, next, recordOf, removed, toolBadge, toolText, trouble} from '../servers.js';
import {report} from '../report.js';
import {watch} from '../store.js';

export function mount(root, ctx) {
  const status = h('section', {class: 'card', 'aria-label': 'State'});
  const settings = h('section', {class: 'card', 'aria-label': 'Settings'});
  const tested = h('section', {class: 'card', 'aria-label': 'Test', hidden: true});
  const tools = list({
    label: 'Tools', one: 'tool', none: 'It has no tools now.', ctx, key: (tool) => tool.registeredName || tool.name,
    search: (tool) => `${tool.name} ${tool.registeredName ?? ''} ${tool.title ?? ''} ${tool.description ?? ''} ${toolText(tool.state)}`,
    open: (tool) => ctx.go(api.at`/admin/tools/${tool.registeredName || tool.name}`),
    columns: [
      {title: 'Use', class: 'switch', cell: (tool) => switchOf(tool)},
      {title: 'Tool', class: 'wide', sort: (tool) => tool.name, cell: (tool) => h('a', {href: api.at`/admin/tools/${tool.registeredName || tool.name}`, tabindex: '-1'}, said(tool.registeredName || tool.name, {clamp: 100}))},
      {title: 'Description', class: 'wide wide-only weak', cell: (tool) => said(tool.title || tool.description, {clamp: 200})},
      {title: 'State', class: 'state-column', sort: (tool) => tool.state, cell: (tool) => [toolBadge(tool.state), tool.reason && said(` ${tool.reason}`, {clamp: 120})]},
    ],
  });
  const bulk = h('div', {class: 'actions'});
  const parts = [status, tested, settings, h('section', {class: 'view', 'aria-label': 'Tools'}, h('div', {class: 'row'}, h('h2', {}, 'Tools'), bulk), tools.el)];
  let live = null; // how it does
  let record = null; // its settings
  let health = null;
  let last = ''; // what the settings were
  let known = ''; // what it was like when the rest was asked for
  let gone = null; // how it is taken back that it was removed here
  let asked = 0; // how often the rest was asked for
  let asking = null; // the newest answer, when it has come
  let choosing = null; // the newest change of the tools, when it is made

  function update({servers}) {
    if (!servers) return;
    live = servers.find((s) => s.id === ctx.params.id) ?? servers.find((s) => s.name === ctx.params.id);
    if (!live) {
      last = known = '';
      replace(ctx.actions);
      replace(root, gone ? h('div', {class: 'card'}, removed(ctx, gone.name, gone, () => {})) : h('p', {class: 'empty'}, 'There is no such server. ', h('a', {href: '/admin/servers'}, 'All servers')));
      if (gone) root.querySelector('button')?.focus();
      return;
    }
    gone = null;
    if (!status.isConnected) replace(root, parts);
    showStatus();
    const sign = JSON.stringify([live.stage, live.tools, live.quarantined, live.decisions, live.tokens, live.error]);
    if (sign === known) return;
    known = sign;
    ask();
  }

  // ask asks for what the list of all servers does not have. An answer that a newer one has overtaken counts for nothing.
  function ask() {
    asking = answer(++asked);
    return asking;
  }

  async function answer(mine) {
    const {id, name} = live;
    const [shown, found, had] = await Promise.all([
      api.get(api.at`mcp/servers/${id || name}`, {signal: ctx.signal}).catch(() => recordOf(live)),
      api.get(api.at`health/${name}`, {signal: ctx.signal}).catch(() => null),
      (id
        ? api.get(api.at`mcp/servers/${id}/tools`, {signal: ctx.signal})
        : api.get('tools', {signal: ctx.signal}).then((all) => all.filter((tool) => tool.server === name))).catch(() => []),
    ]);
    if (mine !== asked) {
      await asking;
      return;
    }
    if (ctx.signal.aborted || !live) return;
    health = found;
    showStatus();
    record = {local: live.local, ...shown};
    const data = JSON.stringify(record);
    if (data !== last) showSettings();
    last = data;
    const {allow, deny = []} = more().tools ?? {};
    const known = new Set(had.map((tool) => tool.name));
    tools.show([...had, ...deny.filter((tool) => !known.has(tool)).map((tool) => ({name: tool, state: 'off', reason: ''}))]);
    const act = (text, on) => button(text, () => choose(tools.rows().filter((tool) => (tool.state === 'off') === on).map((tool) => tool.name), on), {why: mayChoose()});
    renew(bulk, allow && h('span', {class: 'weak'}, `Its entry offers ${plural(allow.length, 'tool')} by name and no others.`), had.length + deny.length > 1 && [act('Use all that are shown', true), act('Use none of them', false)]);
  }

  // more returns the keys of the entry that have no field of their own.
  function more() {
    return JSON.parse(record?.moreJson || '{}');
  }

  function mayChoose() {
    return mayChange(ctx, record);
  }

  function switchOf(tool) {
    const why = mayChoose();
    return h('input', {type: 'checkbox', role: 'switch', 'aria-label': `Use ${tool.name}`, checked: tool.state !== 'off', disabled: Boolean(why), title: why || null, onchange: () => choose([tool.name], tool.state === 'off')});
  }

  // choose switches tools on or off, in the entry of the server, as the choice before has left it.
  function choose(names, on) {
    if (names.length > 0) choosing = Promise.resolve(choosing).catch(() => {}).then(() => change(names, on));
    return choosing;
  }

  async function change(names, on) {
    await asking;
    const all = more();
    const filter = {...all.tools};
    const deny = new Set(filter.deny);
    for (const tool of names) deny[on ? 'delete' : 'add'](tool);
    filter.deny = [...deny];
    if (deny.size === 0) delete filter.deny;
    if (on && filter.allow) filter.allow = [...new Set([...filter.allow, ...names])];
    if (Object.keys(filter).length > 0) all.tools = filter;
    else delete all.tools;
    await ctx.attempt(() => api.put(api.at`mcp/servers/${record.id}`, {moreJson: JSON.stringify(all), revision: record.revision}));
    ctx.changed();
    await ask();
  }

  function showStatus() {
    const is = health?.health;
    replace(status,
      h('div', {class: 'row'}, h('h2', {class: 'grow'}, 'State'), badge(live.stage)),
      health && h('p', {}, said(health.doing.replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, (at) => new Date(at).toLocaleTimeString()))),
      trouble(live.error, (health?.hints ?? []).map((hint) => hint.text)),
      next(live),
      h('dl', {class: 'figures'},
        pair('Tools', number(live.tools)),
        pair('Tokens of context', number(live.tokens)),
        pair('Calls', number(live.calls.ended), live.calls.inFlight > 0 && ` +${live.calls.inFlight} running`),
        pair('Failed', number(live.calls.failed)),
        live.latencyMs?.length > 0 && pair('Latency', spark(live.latencyMs)),
        health?.program && pair('Program', said(`${health.program} ${health.version ?? ''}`, {clamp: 100})),
        health?.protocol && pair('Protocol', health.protocol),
        is?.since && pair('Since', time(is.since)),
        is?.restarts > 0 && pair('Restarts', number(is.restarts)),
        is?.process && pair('Process', String(is.process.pid), is.process.memoryBytes && `, ${number(Math.round(is.process.memoryBytes / 1e6))} MB`),
        is?.retryAt && pair('Next attempt', time(is.retryAt), is.failures > 0 && ` after ${plural(is.failures, 'failure')}`),
        is?.lastError && !live.error && pair('Last failure', time(is.lastErrorAt))),
      is?.users?.length > 0 && h('dl', {}, is.users.map((u) => pair(['User ', said(u.user)], u.phase, u.error && [': ', said(u.error)]))),
      h('p', {}, h('a', {href: api.at`/admin/activity?server=${live.name}`}, 'Activity of this server')));
  }

  function showSettings() {
    ctx.title(said(record.name, {clamp: 100}));
    const why = mayChange(ctx, record);
    const {toggle, restart, remove} = actions(ctx, record, async (back) => {
      if (back?.restore) gone = {name: record.name, ...back};
      else await ask();
    });
    renew(ctx.actions,
      button('Test', async () => {
        const result = await ctx.attempt(() => api.post(api.at`mcp/servers/${record.id}/test`));
        if (!result) return;
        tested.hidden = false;
        replace(tested, h('h2', {}, 'Test'), report(result, isLocal(record)));
      }, {why: record.elsewhere ? isLocal(record) ? ctx.may('operate', 'stdio:write') : ctx.may('operate') : why}),
      record.elsewhere && button('Copy', () => ctx.go(api.at`/admin/add?from=${record.name}`), {why: ctx.may('operate'), title: 'Copy its entry into one that can be changed here'}),
      !record.elsewhere && button('Edit', () => ctx.go(api.at`/admin/servers/${record.name}/edit`), {why}),
      button(toggle.text, toggle.act, {why: toggle.why}),
      menu(`More for ${record.name}`, () => [restart, remove]));
    replace(settings, h('h2', {}, 'Settings'), h('dl', {},
      pair('Transport', said(record.transport === 'streamable_http' ? 'HTTP' : record.transport || 'a part of the program')),
      record.source && pair('Its entry stands in', said(record.source, {class: 'mono'})),
      fields.filter(({name, path}) => !path && record[name] && !['name', 'description', 'argsJson'].includes(name)).map(({name, label, form}) => pair(label,
        name === 'command' || form?.length === 1 ? code(name === 'command' ? command(record) : pretty(record[name])) : said(String(record[name]), {class: 'mono'}))),
      record.createTime && pair('Added', time(`${record.createTime}Z`)),
      record.updateTime && pair('Changed', time(`${record.updateTime}Z`))));
  }

  replace(root, h('p', {class: 'weak'}, 'Loading …'));
  watch(update, ctx.signal);
  listen((event) => {
    if (live && event.type === 'event' && event.data.kind === 'config' && event.data.server === live.name) ask();
  }, ctx.signal);
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
