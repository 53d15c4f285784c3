// Calls that wait for approval, with their exact arguments, and what came of those that were decided here.

import {post, send, at} from '../api.js';
import {cards} from '../cards.js';
import {follow} from '../events.js';
import {h, replace, button, said, code, time, uid} from '../dom.js';

// exact reads JSON whose numbers are shown as they were written, however many digits they have.
function exact(text) {
  return JSON.parse(text, (_, value, source) =>
    typeof value === 'number' && JSON.rawJSON && String(value) !== source?.source ? JSON.rawJSON(source.source) : value);
}

export function mount(root, ctx) {
  const body = h('div');
  const decided = h('ul', {class: 'log'});
  const after = h('section', {hidden: true}, h('h2', {}, 'Decided'), decided);
  replace(root, body, after);
  const update = cards(body, {
    key: (c) => c.id,
    sign: (c) => JSON.stringify(c),
    render: (c) => card(c, ctx, decide),
    empty: 'No call waits for approval. Those that do are shown here as they come.',
  });
  async function load() {
    const res = await ctx.attempt(() => send('GET', 'calls', {signal: ctx.signal}));
    if (res) update(exact(await res.text()));
  }
  function note(c, text, failed) {
    after.hidden = false;
    const query = new URLSearchParams({tool: c.tool.split('__').pop()});
    if (c.server) query.set('server', c.server);
    decided.prepend(h('li', {class: failed ? 'failed' : ''}, said(c.tool), `: ${text}. `, h('a', {href: `/admin/activity?${query}`}, 'Activity')));
    ctx.say(`${c.tool}: ${text}.`, {failed});
  }
  async function decide(c, verb, input) {
    try {
      const done = await post(at`calls/${c.id}/${verb}`, input);
      if (verb === 'deny') note(c, 'denied');
      else note(c, done.toolError ? 'made, and the tool says that it failed' : 'made', done.toolError);
    } catch (err) {
      note(c, err.message, true);
    }
    await load();
  }
  follow(load, ctx.signal, undefined, () => Boolean(ctx.me.replica));
}

function card(c, ctx, decide) {
  const why = ctx.may('operate');
  const later = h('input', {type: 'checkbox'});
  const id = uid();
  const reason = h('input', {type: 'text', id, maxlength: 500});
  return [
    h('h2', {tabindex: '-1'}, said(c.tool)),
    h('p', {class: 'weak'}, c.server ? ['at ', said(c.server)] : 'of the program', c.user && [', for ', said(c.user)],
      c.conversation && [', in the conversation ', said(c.conversation)],
      c.replica && c.replica !== ctx.me.replica && [', on the replica ', said(c.replica)], ', asked ', time(c.asked), ', expires ', time(c.expires)),
    c.reason && h('p', {}, said(c.reason)),
    c.description && h('p', {class: 'weak'}, said(c.description, {clamp: 300})),
    h('h3', {}, 'Arguments'),
    code(c.arguments ?? {}),
    c.conversation && h('label', {class: 'check'}, later, 'If approved: also later calls of this tool in the conversation'),
    !why && h('div', {class: 'field slim'}, h('label', {for: id}, 'If denied: the reason, for the model'), reason),
    h('div', {class: 'actions'},
      button('Approve', () => decide(c, 'approve', {forConversation: later.checked}), {class: 'primary', why}),
      button('Deny', () => decide(c, 'deny', {reason: reason.value}), {class: 'danger', why})),
  ];
}
