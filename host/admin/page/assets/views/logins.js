// Who is logged in at which server: logins begin and end here.

import {get, post, at, isMissing} from '../api.js';
import {confirm} from '../dialog.js';
import {begin, complete} from '../login.js';
import {follow} from '../events.js';
import {h, replace, button, said, table, time} from '../dom.js';
import {watch} from '../store.js';

export function mount(root, ctx) {
  const wanting = h('section', {class: 'card', hidden: true});
  const list = h('div');
  replace(root, wanting, list);
  const why = ctx.may('operate');
  let shown = '';
  let lacking = []; // servers that need a login
  async function load() {
    let sessions = [];
    let none = 'No user is logged in. A server that needs a login is shown here and on the first view, with the button to log in.';
    try {
      sessions = await get('sessions', {signal: ctx.signal});
    } catch (err) {
      if (err.name === 'AbortError') return;
      none = isMissing(err) ? 'The program shows no logins here.' : err.message;
    }
    const found = JSON.stringify([lacking, sessions, none]);
    if (found === shown) return; // what has the focus keeps it
    shown = found;
    wanting.hidden = lacking.length === 0;
    replace(wanting, h('h2', {}, 'Servers that need a login'), h('ul', {class: 'stack'}, lacking.map((server) =>
      h('li', {class: 'row'}, said(server), button('Log in', () => begin(ctx, server, load), {why, title: `Log in at ${server}`})))));
    replace(list, sessions.length === 0 ? h('p', {class: 'empty'}, none) : table('Logins', ['Server', 'User', 'Login', 'Rights', 'Expires', 'Actions'], sessions.map((s) => h('tr', {},
          h('th', {scope: 'row'}, said(s.key.server)),
          h('td', {}, s.key.user ? said(s.key.user) : 'the program'),
          h('td', {}, h('span', {class: s.phase === 'logged_in' ? 'badge good' : 'badge warn'}, s.phase.replaceAll('_', ' ')), s.issuer && [' by ', said(s.issuer)], s.reason && h('p', {class: 'error'}, said(s.reason))),
          h('td', {}, rightsOf(s)),
          h('td', {}, s.renewable ? 'renewed by itself' : time(s.expires)),
          h('td', {}, h('div', {class: 'actions'},
            s.phase === 'logged_in'
              ? button('Log out', () => logout(s.key), {class: 'danger', why, title: `Log out ${s.key.user ?? ''} at ${s.key.server}`})
              : button('Log in', () => begin(ctx, s.key.server, load), {why, title: `Log in at ${s.key.server}`})))))));
  }
  function rightsOf(s) {
    const rights = [...(s.scopes ?? []), ...(s.headers ?? [])];
    return rights.length > 0 ? rights.map((right) => [said(right), ' ']) : '–';
  }
  async function logout(key) {
    if (!await confirm(`Log out at ${key.server}?`, h('p', {}, key.user ? said(key.user) : 'The program', ' has to log in again to use its tools.'), {yes: 'Log out', danger: true})) return;
    await ctx.attempt(async () => {
      await post(at`sessions/${key.server}/logout`, {user: key.user});
      ctx.say(`Logged out at ${key.server}.`);
    });
    await load();
  }
  if (ctx.query.has('state')) {
    const query = new URLSearchParams(ctx.query);
    const at = query.get('at') ?? location.pathname; // where the browser came to first
    query.delete('at');
    const callback = `${at}?${query}`;
    history.replaceState(null, '', '/admin/logins'); // the code is good once
    complete(ctx, callback, load);
  }
  follow(load, ctx.signal, (e) => ['login', 'logout', 'config'].includes(e.kind));
  watch(({servers}) => {
    const before = lacking.join();
    lacking = (servers ?? []).filter((s) => s.action === 'login').map((s) => s.name);
    if (lacking.join() !== before) load();
  }, ctx.signal);
}
