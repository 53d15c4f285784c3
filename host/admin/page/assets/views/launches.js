// Servers of files that others may have written: their exact commands, to be allowed or denied.

import {get, post, at} from '../api.js';
import {cards} from '../cards.js';
import {follow} from '../events.js';
import {h, replace, button, said} from '../dom.js';

export function mount(root, ctx) {
  const body = h('div');
  const refused = h('div');
  const denied = h('details', {class: 'card', hidden: true}, h('summary', {}, 'Denied'), refused);
  const why = ctx.may('operate', 'stdio:write');
  replace(root, h('p', {class: 'weak'}, 'A local server runs with your rights on this machine. Allow a command only if you know what it does.'), body, denied);
  const listOf = (place, isDenied) => cards(place, {
    key: (l) => l.server,
    sign: (l) => l.fingerprint,
    render: (l) => [
      h('h2', {tabindex: '-1'}, said(l.server)),
      h('p', {class: 'weak'}, 'From ', said(l.source, {class: 'mono'})),
      l.command ? said(l.command, {tag: 'pre', class: 'command'}) : h('p', {class: 'weak'}, 'The exact command is shown to those with the role stdio:write.'),
      h('div', {class: 'actions'},
        button(isDenied ? 'Allow it after all' : 'Allow', () => decide(l, 'allow'), {class: isDenied ? '' : 'primary', why}),
        isDenied ? button('Decide later', () => decide(l, 'forget'), {why}) : button('Deny', () => decide(l, 'deny'), {class: 'danger', why})),
    ],
    empty: isDenied ? 'No launch was denied.' : 'No server waits to be allowed.',
  });
  const update = listOf(body, false);
  const showDenied = listOf(refused, true);
  async function load(options) {
    const [all, no] = (await ctx.attempt(() => Promise.all([get('launches', {signal: ctx.signal}), get('launches?denied=true', {signal: ctx.signal})]))) ?? [];
    if (!all) return;
    update(all, options);
    denied.hidden = no.length === 0;
    showDenied(no, options);
  }
  async function decide(l, verb) {
    await ctx.attempt(async () => {
      await post(at`launches/${l.fingerprint}/${verb}`);
      const done = {allow: 'allowed and started', deny: 'denied', forget: 'it waits again'};
      ctx.say(`${l.server}: ${done[verb]}.`, {back: verb === 'deny' && {text: 'Undo', action: () => decide(l, 'forget')}});
    });
    await load({fresh: true});
  }
  follow(load, ctx.signal);
}
