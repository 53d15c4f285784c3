// The board: all servers, and how they do now.

import * as api from '../api.js';
import {follow} from '../events.js';
import {h, replace, said, number, button} from '../dom.js';
import {spark} from '../spark.js';
import {actions, badge, load, next, stageText, trouble} from '../servers.js';

export function mount(root, ctx) {
  const summary = h('p', {class: 'weak'}, 'Loading …');
  const field = h('input', {type: 'search', 'aria-label': 'Filter servers', placeholder: 'Filter by name, state or error', value: ctx.query.get('q') ?? '', oninput: () => {
    ctx.setQuery({q: field.value});
    sift();
  }});
  const cards = h('ul', {class: 'cards plain', 'aria-label': 'Servers'});
  const empty = h('p', {class: 'empty', hidden: true}, 'There are no servers yet. Add the first one.');
  const shown = new Map(); // by ID: {el, text, stage, data}

  const why = ctx.may('operate');
  ctx.actions.append(
    button('Connect all again', async () => {
      const done = await ctx.attempt(() => api.post('mcp/servers/refresh'));
      if (done) ctx.say(`${done.refreshed} servers are connected, ${Object.keys(done.failed).length} failed.`);
    }, {why}),
    button('Add a server', () => ctx.go('/admin/add'), {class: 'primary', why}));

  async function refresh() {
    const servers = await ctx.attempt(() => load(ctx.signal));
    if (!servers || ctx.signal.aborted) return;
    const there = new Set();
    for (const server of servers) {
      there.add(server.record.id);
      put(server);
    }
    for (const [id, {el}] of shown) {
      if (there.has(id)) continue;
      el.remove();
      shown.delete(id);
    }
    const count = (f) => number(servers.reduce((sum, {live}) => sum + (f(live) || 0), 0));
    summary.textContent = `${number(servers.length)} servers, ${count((s) => s.stage === 'ready')} ready · ${count((s) => s.tools)} tools · about ${count((s) => s.tokens)} tokens of context`;
    empty.hidden = servers.length > 0;
    sift();
  }

  // put shows a server. Its card stays where it is, and is made again only if something has changed; what had
  // the focus in it has it afterwards.
  function put(server) {
    const {record, live} = server;
    const data = JSON.stringify(server);
    const old = shown.get(record.id);
    if (old?.data === data) return;
    const el = old?.el ?? h('li', {class: 'card'});
    const focused = [...el.querySelectorAll('a, button')].indexOf(document.activeElement);
    replace(el, card(record, live));
    if (focused >= 0) (el.querySelectorAll('a, button')[focused] ?? el.querySelector('a')).focus();
    if (!old) cards.append(el);
    else if (old.stage !== live.stage) ctx.tell(`${record.name}: ${stageText(live.stage)}`);
    shown.set(record.id, {el, data, stage: live.stage, text: `${record.name} ${stageText(live.stage)} ${live.error ?? ''} ${record.description ?? ''}`.toLowerCase()});
  }

  function card(record, live) {
    const calls = live.calls;
    return [
      h('div', {class: 'row'},
        h('h2', {class: 'grow'}, h('a', {href: api.at`/admin/servers/${record.id}`}, said(record.name, {clamp: 100}))), badge(live.stage)),
      record.description && h('p', {class: 'weak'}, said(record.description, {clamp: 200})),
      trouble(live.error, [live.cure], 160),
      next(live),
      h('dl', {class: 'figures'},
        figure('Tools', number(live.tools)),
        live.tokens !== undefined && figure('Tokens', number(live.tokens)),
        calls && figure('Calls', number(calls.ended), calls.inFlight ? ` +${calls.inFlight} running` : ''),
        calls && figure('Failed', number(calls.failed))),
      live.latencyMs && spark(live.latencyMs),
      h('div', {class: 'actions'}, actions(ctx, record, refresh)),
    ];
  }

  function sift() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const {el, text} of shown.values()) el.hidden = !words.every((word) => text.includes(word));
  }

  replace(root, h('div', {class: 'row'}, h('div', {class: 'grow'}, field), summary), empty, cards);
  follow(refresh, ctx.signal);
}

function figure(name, ...value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}
