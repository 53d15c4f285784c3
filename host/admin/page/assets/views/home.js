// The first view: what needs a person, with what they can do about it, and all servers.

import * as api from '../api.js';
import {begin as login} from '../login.js';
import {h, replace, said, number, plural, button} from '../dom.js';
import {list} from '../list.js';
import {menu} from '../menu.js';
import {spark} from '../spark.js';
import {actions, badge, plainly, rank, recordOf, removed, stageText} from '../servers.js';
import {watch} from '../store.js';
import {needs} from '../needs.js';

const isFailing = (s) => s.state !== 'healthy' && Boolean(s.error) && !waits(s);
const waits = (s) => s.action === 'login' || ['login', 'not_allowed', 'quarantined'].includes(s.stage) || s.decisions > 0;

export function mount(root, ctx) {
  const why = ctx.may('operate');
  const gone = new Map(); // by name: rows of servers that were removed here
  const summary = h('p', {class: 'weak'}, 'Loading …');
  const todo = needs(ctx, {isFailing, login: (name) => login(ctx, name)});
  const table = list({
    label: 'Servers', one: 'server', ctx, key: (s) => s.name,
    none: [h('p', {}, 'There are no servers yet. Add one by its command or address, or paste the entry that another program has.'),
      h('div', {class: 'actions'}, button('Add a server', () => ctx.go('/admin/add'), {class: 'primary', why}))],
    search: (s) => `${s.name} ${stageText(s.stage)} ${s.error ?? ''} ${s.description ?? ''}`,
    open: (s) => ctx.go(api.at`/admin/servers/${s.name}`),
    whole: (s) => s.removed && removed(ctx, s.name, s.removed, () => {
      gone.delete(s.name);
      update(now);
    }),
    chips: [
      {value: 'failing', text: 'Failing', has: isFailing},
      {value: 'waiting', text: 'Waits for you', has: waits},
      {value: 'ready', text: 'Ready', has: (s) => s.stage === 'ready' && !isFailing(s) && !waits(s)},
      {value: 'idle', text: 'Not started', has: (s) => ['starting', 'cached', 'configured'].includes(s.stage)},
      {value: 'off', text: 'Off', has: (s) => s.stage === 'disabled'},
    ],
    columns: [
      {title: 'On', class: 'switch wide-only', cell: (s) => switchOf(s)},
      {title: 'Name', class: 'name', sort: (s) => s.name, cell: (s) => h('a', {href: api.at`/admin/servers/${s.name}`}, said(s.name, {clamp: 100}))},
      {title: 'State', class: 'state-column', sort: (s) => rank(s.stage), cell: (s) => badge(s.stage)},
      {title: 'Tools', class: 'narrow num', sort: (s) => s.tools, cell: (s) => number(s.tools)},
      {title: 'Tokens', class: 'narrow num wide-only', sort: (s) => s.tokens, cell: (s) => number(s.tokens)},
      {title: 'Calls', class: 'narrow num wide-only', sort: (s) => s.calls.ended, cell: (s) => [number(s.calls.ended), s.calls.failed > 0 && h('span', {class: 'error'}, ` ▲${number(s.calls.failed)}`)]},
      {title: 'Latency', class: 'latency wide-only', cell: (s) => (s.latencyMs?.length ? spark(s.latencyMs) : h('span', {class: 'weak'}, '–'))},
      {title: 'Last error', class: 'wide wide-only weak', cell: (s) => (s.error ? said(plainly(s.error), {clamp: 160}) : s.description && said(s.description, {clamp: 160}))},
      {title: '', class: 'end', cell: (s) => menu(`More for ${s.name}`, () => rowItems(s))},
    ],
  });

  // switchOf switches a server on or off.
  function switchOf(s) {
    const {toggle} = actions(ctx, recordOf(s), (done) => { if (!done) box.checked = !box.checked; });
    const box = h('input', {type: 'checkbox', role: 'switch', 'aria-label': `Use ${s.name}`, checked: s.stage !== 'disabled', disabled: Boolean(toggle.why), title: toggle.why || null, onchange: () => toggle.act()});
    return box;
  }

  function rowItems(s) {
    const {toggle, restart, remove} = actions(ctx, recordOf(s), (back) => {
      if (!back?.restore) return;
      gone.set(s.name, {...s, removed: back});
      update(now);
      table.focus(s.name);
    });
    return [
      {text: 'Edit', why: s.builtin ? 'it is a part of the program' : '', act: () => ctx.go(api.at`/admin/servers/${s.name}/edit`)},
      {text: 'Activity', act: () => ctx.go(api.at`/admin/activity?server=${s.name}`)},
      restart, toggle, remove,
    ];
  }

  let now;
  function update(next) {
    now = next;
    const {servers, error} = now;
    if (!servers) {
      summary.textContent = error;
      return;
    }
    const there = new Set(servers.map(({name}) => name));
    for (const [name, one] of gone) {
      if (!there.has(name)) one.absent = true;
      else if (one.absent) gone.delete(name); // it is back
    }
    const shown = [...servers.filter(({name}) => !gone.has(name)), ...gone.values()].sort((a, b) => order(a) - order(b) || a.name.localeCompare(b.name));
    const sum = (f) => servers.reduce((total, s) => total + (f(s) || 0), 0);
    summary.textContent = servers.length === 0 ? '' : `${sum((s) => s.stage === 'ready')} of ${plural(servers.length, 'server')} ready · ${plural(sum((s) => s.tools), 'tool')} · about ${plural(sum((s) => s.tokens), 'token')} of context`;
    todo.update(now);
    table.show(shown);
  }

  const again = button('Reconnect all', async () => {
    const done = await ctx.attempt(() => api.post('mcp/servers/refresh'));
    if (done) ctx.say(`${plural(done.refreshed, 'server')} connected, ${number(Object.keys(done.failed).length)} failed.`);
  }, {why});
  ctx.actions.append(again, button('Add a server', () => ctx.go('/admin/add'), {class: 'primary', why}));
  replace(root, summary, todo.el, h('section', {class: 'view', 'aria-label': 'All servers'}, table.el));
  watch(update, ctx.signal);
}

// order says how early a server comes: those that fail are first.
function order(s) {
  return isFailing(s) ? Math.min(1, rank(s.stage)) : waits(s) ? Math.min(4, rank(s.stage)) : rank(s.stage);
}
