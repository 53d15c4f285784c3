// What is new or has changed at servers, field by field, to be accepted or rejected as it was looked at.

import {get, post} from '../api.js';
import {cards} from '../cards.js';
import {table} from '../diff.js';
import {follow} from '../events.js';
import {h, replace, button, said, code, time} from '../dom.js';

const about = {
  server_changed: 'The entry of this server was changed, so what it starts or connects to is not what was accepted. Accept it if the change is yours.',
  server_quarantined: 'All of this server is held back until a person accepts it.',
};

const kinds = {
  new: 'new tool',
  changed: 'changed tool',
  rejected: 'rejected tool',
  removed: 'removed tool',
  server_changed: 'changed entry',
  server_quarantined: 'server in quarantine',
  instructions_changed: 'changed instructions',
  unread: 'tools that cannot be read',
};

export function mount(root, ctx) {
  const only = ctx.query.get('server');
  const body = h('div');
  const refused = h('div');
  const rejected = h('details', {class: 'card', hidden: true}, h('summary', {}, 'Rejected'), refused);
  replace(root,
    h('p', {class: 'weak'}, 'Tools that are new or have changed are not offered until they are accepted. Read them as what a stranger says: they are data, not instructions. ',
      only && h('a', {href: '/admin/changes'}, `Show those of all servers, not of ${only} alone`)),
    body, rejected);
  const showRefused = cards(refused, {
    key: (c) => JSON.stringify([c.server, c.tool, c.hash]),
    sign: (c) => c.hash,
    render: (c) => render(c, (verb) => decide(c, verb), ctx),
    empty: 'Nothing was rejected.',
  });
  const update = cards(body, {
    key: (c) => JSON.stringify([c.server, c.tool ?? c.kind]),
    sign: (c) => `${c.kind} ${c.hash}`,
    render: (c) => render(c, (verb) => decide(c, verb), ctx),
    empty: 'Nothing waits to be accepted.',
  });
  async function load(options) {
    const path = (more) => `changes?${new URLSearchParams({...(only && {server: only}), ...more})}`;
    const [all, no] = (await ctx.attempt(() => Promise.all([get(path({}), {signal: ctx.signal}), get(path({rejected: true}), {signal: ctx.signal})]))) ?? [];
    if (!all) return;
    update(all, options);
    rejected.hidden = no.length === 0;
    showRefused(no, options);
  }
  async function decide({server, tool, kind, hash}, verb) {
    try {
      await post(`changes/${verb}`, {server, tool, kind, hash});
      const back = verb === 'reject' && {text: 'Accept it after all', action: () => decide({server, tool, kind: 'rejected', hash}, 'accept')};
      ctx.say(`${tool ?? server}: ${verb === 'accept' ? 'accepted' : 'rejected'}.`, {back});
    } catch (err) {
      if (err.code !== 'stale') {
        ctx.say(err.message, {failed: true});
        return;
      }
      ctx.say(`${tool ?? server} has changed since you looked at it, so nothing was decided. Look at it as it is now.`, {failed: true});
    }
    await load({fresh: true});
  }
  follow(load, ctx.signal);
}

// isForgotten reports whether it is not known what the entry of a server was: the program was started since it was changed, or
// the change was not made here.
function isForgotten(c) {
  return c.kind === 'server_changed' && c.fields.every(({before}) => !before);
}

// now shows what the entry of a server is.
function now(c) {
  return [h('p', {class: 'note warn'}, 'What it was when it was accepted is not known here: it was changed elsewhere, or before this program was started. This is all that it is now.'),
    h('dl', {}, c.fields.map(({field, after}) => h('div', {}, h('dt', {}, field.slice(1)), h('dd', {}, code(after)))))];
}

function render(c, decide, ctx) {
  const why = ctx.may('operate');
  return [
    h('h2', {tabindex: '-1'}, c.tool ? [said(c.tool), ' at '] : null, h('a', {href: `/admin/servers/${encodeURIComponent(c.server)}`}, said(c.server))),
    h('p', {class: 'weak'}, h('span', {class: 'badge'}, kinds[c.kind] ?? c.kind), c.kind === 'rejected' ? ' ' : ' seen ', time(c.since)),
    about[c.kind] && h('p', {}, about[c.kind]),
    c.fields?.length > 0 && (isForgotten(c) ? now(c) : table(c.fields)),
    c.more > 0 && h('p', {}, `and ${c.more} more differences`),
    c.surface && h('details', {open: !c.fields?.length}, h('summary', {}, 'All that the server says of it'), code(c.surface)),
    c.hash && h('div', {class: 'actions'},
      button(c.kind === 'rejected' ? 'Accept it after all' : 'Accept', () => decide('accept'), {class: c.kind === 'rejected' ? '' : 'primary', why}),
      c.kind !== 'rejected' && button('Reject', () => decide('reject'), {class: 'danger', why})),
  ];
}
