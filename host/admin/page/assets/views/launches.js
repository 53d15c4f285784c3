// Servers of files that others may have written: their exact commands, to be allowed or denied.

import {get, post, at} from '../api.js';
import {cards} from '../cards.js';
import {follow} from '../events.js';
import {h, replace, button, said} from '../dom.js';

export function mount(root, ctx) {
  const body = h('div');
  replace(root, h('p', {class: 'weak'}, 'A local server runs with your rights on this machine. Allow a command only if you know what it does.'), body);
  const update = cards(body, {
    key: (l) => l.server,
    sign: (l) => l.fingerprint,
    render: (l) => [
      h('h2', {tabindex: '-1'}, said(l.server)),
      h('p', {class: 'weak'}, 'of ', said(l.source), ' by ', said(l.transport)),
      l.command ? said(l.command, {tag: 'pre', class: 'command'}) : h('p', {class: 'weak'}, 'The exact command is shown to those with the role stdio:write.'),
      h('div', {class: 'actions'},
        button('Allow', () => decide(l, 'allow'), {class: 'primary', why: ctx.may('operate', 'stdio:write')}),
        button('Deny', () => decide(l, 'deny'), {class: 'danger', why: ctx.may('operate', 'stdio:write')})),
    ],
    empty: 'No server waits to be allowed.',
  });
  async function load(options) {
    const all = await ctx.attempt(() => get('launches', {signal: ctx.signal}));
    if (all) update(all, options);
  }
  async function decide(l, verb) {
    await ctx.attempt(async () => {
      await post(at`launches/${l.fingerprint}/${verb}`);
      ctx.say(`${l.server}: ${verb === 'allow' ? 'allowed and started' : 'denied'}.`);
    });
    await load({fresh: true});
  }
  follow(load, ctx.signal);
}
