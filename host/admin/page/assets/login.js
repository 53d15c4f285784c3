// Logins at servers: how one begins, and how it ends.

import {post, at} from './api.js';
import {open} from './dialog.js';
import {h, said, time} from './dom.js';

// begin begins a login at a server. after is called when something has come of it.
export async function begin(ctx, server, after = () => {}) {
  const begun = await ctx.attempt(() => post(at`sessions/${server}/login`));
  if (!begun) return;
  if (!begun.url) {
    ctx.say(`You are logged in at ${server}.`);
    return;
  }
  const pasted = h('input', {type: 'url', 'aria-label': 'Address at which the browser ended', placeholder: 'http://localhost/callback?code=…'});
  const finish = () => { if (pasted.value) complete(ctx, pasted.value, after); };
  open(`Log in at ${server}`, [
    h('p', {}, 'The login goes on at ', said(begun.url), begun.expires && [', and expires ', time(begun.expires)], '.'),
    begun.userCode && h('p', {}, 'Enter this code there: ', h('strong', {}, said(begun.userCode))),
    !begun.userCode && h('p', {}, 'It ends on this page. If the browser ends at a page that cannot be reached, copy its whole address, and paste it here.'),
    h('form', {method: 'dialog', class: 'actions', onsubmit: finish}, !begun.userCode && pasted, h('a', {class: 'button primary', href: begun.url, ...(begun.userCode && {target: '_blank', rel: 'noopener noreferrer'})}, 'Continue'), h('button', {}, begun.userCode ? 'Close' : 'Done')),
  ], after);
}

// complete completes the login that a browser has come back from.
export async function complete(ctx, callback, after = () => {}) {
  await ctx.attempt(async () => {
    const key = await post('sessions/complete', {callback});
    ctx.say(`Logged in at ${key.server}.`);
  });
  await after();
}
