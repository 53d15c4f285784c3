// What needs a person: decisions, logins, and what fails, each with what can be done about it.

import * as api from './api.js';
import {h, replace, said, plural, button} from './dom.js';
import {report} from './report.js';
import {actions, mayChange, plainly, recordOf} from './servers.js';

const most = 3; // rows of one kind that are shown before someone asks for more

// needs returns a list of what needs a person: el, and update, which gets what the store has.
export function needs(ctx, {isFailing, login}) {
  const items = h('ul', {class: 'needs plain'});
  const title = h('h2', {tabindex: '-1'});
  const el = h('section', {class: 'view', 'aria-label': 'What needs you', hidden: true}, title, items);
  const shown = new Map(); // by key: {el, sign}
  let everything = false; // all rows are shown

  function update(now) {
    const few = (rows, kind) => { // a row that is shown stays
      const first = rows.filter(({key}, i) => everything || rows.length <= most + 1 || i < most || shown.has(key));
      const rest = rows.filter((row) => !first.includes(row));
      return rest.length > 0 ? [...first, others(rest, kind, now)] : first;
    };
    const asked = decisions(now);
    const changes = changed(now);
    const logins = now.servers.filter((s) => s.action === 'login').map(loginOf);
    const failures = causes(now.servers.filter(isFailing));
    const all = [...asked, ...few(changes, 'with changes to accept'), ...few(logins, 'that need a login'), ...few(failures, 'that cannot be used')];
    const keys = new Set(all.map(({key}) => key));
    for (const [key, one] of shown) {
      if (keys.has(key)) continue;
      if (one.body) { // what came of the decisions stays until the view is left
        one.settle();
        continue;
      }
      one.el.remove();
      shown.delete(key);
    }
    all.forEach((need, i) => {
      const old = shown.get(need.key);
      if (old?.sign !== need.sign) {
        const one = old?.body ? old : need.make();
        one.rename?.(need.text);
        if (old && one !== old) old.el.replaceWith(one.el);
        shown.set(need.key, Object.assign(one, {sign: need.sign}));
      }
      const {el: row} = shown.get(need.key);
      if (items.children[i] !== row) items.insertBefore(row, items.children[i] ?? null);
    });
    const count = asked.length + changes.length + logins.length + failures.length;
    replace(title, 'Needs you ', count > 0 && h('span', {class: 'badge warn'}, String(count)));
    el.hidden = shown.size === 0;
  }

  // decisions returns the rows of what waits to be decided. They open to the view that decides it.
  function decisions({calls, launches}) {
    return [
      calls.length > 0 && decision('calls', `${plural(calls.length, 'call')} ${calls.length === 1 ? 'waits' : 'wait'} for approval`, calls.length, () => import('./views/inbox.js')),
      launches.length > 0 && decision('launches', `${plural(launches.length, 'server')} ${launches.length === 1 ? 'waits' : 'wait'} to be allowed to start`, launches.length, () => import('./views/launches.js')),
    ].filter(Boolean);
  }

  // changed returns the rows of the servers whose tools wait to be accepted.
  function changed({servers}) {
    return servers.filter((s) => s.decisions > 0 || s.stage === 'quarantined').map((s) =>
      decision(`changes ${s.name}`, `${s.name}: ${s.decisions > 0 ? `${plural(s.decisions, 'change')} to accept` : 'held back'}`, 0, () => import('./views/changes.js'), {server: s.name}));
  }

  function decision(key, text, count, load, query = {}) {
    return {key, text, sign: text, make() {
      const name = h('span', {class: 'grow'}, text);
      const body = h('div', {class: 'view body'});
      const hint = h('span', {class: 'hint link'}, 'Review');
      const sum = h('summary', {}, mark('warn'), name, hint);
      const details = h('details', {open: count === 1 && shown.size === 0}, sum, body);
      const one = {
        el: h('li', {class: 'need'}, details), body,
        rename: (now) => { name.textContent = now; },
        settle: () => { name.textContent = query.server ? `${query.server}: decided` : 'Nothing waits here any more'; },
      };
      let mounted = false;
      const open = async () => {
        hint.textContent = details.open ? 'Close' : 'Review';
        if (!details.open || mounted) return;
        mounted = true;
        const {mount} = await load();
        const bar = h('div', {class: 'actions'});
        const root = h('div', {class: 'view'});
        if (ctx.signal.aborted) return;
        mount(root, {...ctx, params: {}, query: new URLSearchParams(query), actions: bar, title() {}, setQuery() {}, keep() {}});
        replace(body, bar, root);
      };
      details.addEventListener('toggle', open);
      if (details.open) open();
      return one;
    }};
  }

  function loginOf(s) {
    return {key: `login ${s.name}`, sign: s.name, make: () => ({el: h('li', {class: 'need row'}, mark('warn'),
      h('span', {class: 'grow'}, link(s), ' needs a login'),
      button('Log in', () => login(s.name), {class: 'primary', why: ctx.may('operate'), title: `Log in at ${s.name}`}))})};
  }

  // causes returns the rows of servers that fail, those with one cause together.
  function causes(failing) {
    const groups = new Map();
    for (const s of failing) {
      const cause = s.error.replaceAll(s.name, '…').replace(/\d+/g, '…').replace(/"[^"]*"/g, '…');
      if (!groups.has(cause)) groups.set(cause, []);
      groups.get(cause).push(s);
    }
    return [...groups].map(([cause, all]) => ({
      key: `failing ${cause}`, servers: all.length, sign: JSON.stringify(all.map((s) => [s.name, s.stage === 'invalid', s.cure])),
      make: () => ({el: h('li', {class: 'need'}, failure(all))}),
    }));
  }

  // others is the row of those of one kind that are not shown.
  function others(rows, kind, now) {
    const text = `${plural(rows.reduce((sum, {servers = 1}) => sum + servers, 0), 'more server')} ${kind}`;
    return {key: `others ${kind}`, sign: text, make: () => ({el: h('li', {class: 'need row'}, mark(kind.endsWith('used') ? 'bad' : 'warn'), h('span', {class: 'grow'}, text),
      button('Show all', () => { everything = true; update(now); title.focus(); }, {class: 'link', title: `Show all servers ${kind}`}))})};
  }

  function failure(all) {
    const [s] = all;
    const tested = h('div', {class: 'view'});
    const record = recordOf(s);
    const why = mayChange(ctx, record);
    const {restart} = actions(ctx, record, () => {});
    const buttons = all.length > 1 ? [] : [
      button('Test', async () => {
        const result = await ctx.attempt(() => api.post(api.at`mcp/servers/${record.id}/test`));
        if (result) replace(tested, report(result, s.local));
      }, {why, title: `Test ${s.name}`}),
      restart && button('Restart', restart.act, {why: restart.why, title: `Restart ${s.name}`}),
      !why && h('a', {class: 'button', href: api.at`/admin/servers/${s.name}/edit`}, 'Edit'),
    ];
    return [h('div', {class: 'row top'}, mark('bad'), h('div', {class: 'grow'},
      h('p', {}, all.length > 1 && [h('strong', {}, plural(all.length, 'server')), ': '], all.map((one, i) => [i > 0 && ', ', link(one)])),
      h('p', {class: 'error'}, said(plainly(s.error), {clamp: 140})), s.cure && h('p', {class: 'weak'}, said(s.cure))),
    h('div', {class: 'actions'}, buttons)), tested];
  }

  return {el, update};
}

function link(s) {
  return h('a', {href: api.at`/admin/servers/${s.name}`}, said(s.name, {clamp: 60}));
}

function mark(kind) {
  return h('span', {class: `mark ${kind}`}, h('span', {'aria-hidden': 'true'}, kind === 'bad' ? '▲' : '◆'), h('span', {class: 'sr'}, kind === 'bad' ? 'fails: ' : 'waits: '));
}
