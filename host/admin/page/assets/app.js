// The page: signing in, the frame around the views, and the way from one view to another.

import * as api from './api.js';
import * as events from './events.js';
import * as store from './store.js';
import {h, replace, button, said} from './dom.js';
import {icon} from './icons.js';
import {routes} from './views/index.js';

const undoFor = 10000; // milliseconds that a message with a way back is shown; others are shown half as long
const longestIdle = 3600000; // milliseconds that a page may go without use
let me = null; // who is signed in
let leave = () => {}; // ends the view that is shown
let keep = () => ({}); // returns what else is kept of the place in the view that is shown
let main, live, toasts, links, nav, undo, state, away;

// may returns nothing if the caller has the roles, or why they may not.
function may(...roles) {
  const lacking = roles.filter((role) => !me?.roles.includes(role));
  return lacking.length ? `this takes the role ${lacking.join(' and ')}` : '';
}

// say shows a message, and tells it to screen readers; back, if there is one, is {text, action}.
function say(text, {failed = false, back} = {}) {
  for (const old of [...toasts.children]) if (old.dataset.text === text) old.remove();
  const toast = h('div', {class: failed ? 'toast failed' : 'toast', 'data-text': text}, said(text, {tag: 'span', clamp: 300}));
  const close = () => toast.remove();
  if (back) toast.append(button(back.text, async () => { close(); await back.action(); }, {class: 'link'}));
  toast.append(button('×', close, {class: 'link', title: 'Close'}));
  toasts.append(toast);
  tell(text);
  if (!failed) setTimeout(close, back ? undoFor : undoFor / 2);
}

// tell tells screen readers alone.
function tell(text) {
  live.textContent = text.slice(0, 300);
}

// attempt calls f, shows why it failed if it does, and returns what it returns.
async function attempt(f) {
  try {
    return await f();
  } catch (err) {
    if (err.name !== 'AbortError' && err.status !== 401 && !(err.status === 0 && !away.hidden)) say(err.message, {failed: true});
    if (!(err instanceof api.APIError) && err.name !== 'AbortError') throw err;
    return undefined;
  }
}

// go shows the view of a path below /admin/. Where the reader was is kept for when they come back.
function go(path) {
  history.replaceState({place: {...keep(), top: scrollY}}, '');
  history.pushState(null, '', path);
  for (const old of toasts.querySelectorAll('.failed')) old.remove(); // it is about what was shown before
  show();
}

// setQuery puts values into the query of the address, so that a link to it shows the same. Empty ones are
// left out.
function setQuery(values) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(history.state, '', url);
}

// find returns the route of a path, and the parameters in it.
function find(path) {
  for (const route of routes) {
    const names = [];
    const pattern = route.path.replace(/:(\w+)/g, (_, name) => {
      names.push(name);
      return '([^/]+)';
    });
    const match = new RegExp(`^/admin${pattern}/?$`).exec(path);
    if (match) return {route, params: Object.fromEntries(names.map((name, i) => [name, unescaped(match[i + 1])]))};
  }
  return null;
}

function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// show shows the view of the address.
function show() {
  leave();
  keep = () => ({});
  nav.classList.remove('open');
  const found = find(location.pathname);
  const end = new AbortController();
  const heading = h('h1', {tabindex: '-1'}, found?.route.title ?? 'Not found');
  const actions = h('div', {class: 'actions'});
  const body = h('div', {class: 'view'});
  replace(main, h('div', {class: 'heading'}, heading, actions), body);
  const title = (...nodes) => {
    replace(heading, ...nodes);
    document.title = `${heading.textContent.slice(0, 80)} · mcpbelt`;
  };
  title(heading.textContent);
  for (const link of links) {
    const current = found && (found.route.nav ?? found.route.under) === link.dataset.nav;
    if (current) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  let unmount;
  leave = () => {
    end.abort();
    unmount?.();
  };
  heading.focus({preventScroll: true});
  window.scrollTo(0, 0);
  if (!found) {
    replace(body, h('p', {class: 'empty'}, 'There is no such view. ', h('a', {href: '/admin/servers'}, 'All servers')));
    return;
  }
  const place = history.state?.place;
  const ctx = {
    me, may, say, tell, attempt, go, setQuery, title, actions, place, changed: showUndo, signal: end.signal,
    keep: (f) => { keep = f; }, params: found.params, query: new URLSearchParams(location.search),
  };
  Promise.resolve(found.route.load()).then((view) => {
    if (!end.signal.aborted) unmount = view.mount(body, ctx);
  }, () => {
    if (!end.signal.aborted) replace(body, h('div', {class: 'empty'}, h('p', {}, 'The program cannot be reached.'), button('Try again', show, {class: 'primary'})));
  });
}

// showUndo shows what the last change was, if it can be taken back. Views call it after a change.
async function showUndo() {
  let last = null;
  try {
    last = await api.get('undo');
  } catch {
    // A program without undo shows none.
  }
  undo.hidden = !last;
  if (!last) return;
  undo.textContent = `Undo: ${last.what} ${last.server}`.slice(0, 60);
  undo.dataset.at = last.at;
}

// showWaiting shows in the navigation how many decisions wait.
function showWaiting(now) {
  let all = 0;
  for (const {path, nav: name, icon: drawing, waiting} of routes.filter((route) => route.waiting)) {
    const count = waiting(now);
    all += count;
    const link = links.find((one) => one.pathname === `/admin${path}`);
    replace(link, icon(drawing), name, count > 0 && h('span', {class: 'badge warn'}, String(count), h('span', {class: 'sr'}, ' waiting')));
  }
  nav.toggleAttribute('data-waiting', all > 0);
}

async function takeBack() {
  const done = await attempt(() => api.post(api.at`undo?at=${undo.dataset.at}`));
  if (done) {
    say(`Undone: ${done.what} ${done.server}.`);
    show();
  }
  showUndo();
}

// frame shows what is around the views.
function frame() {
  main = h('main', {id: 'main'});
  live = h('div', {class: 'sr', role: 'status', 'aria-live': 'polite'});
  toasts = h('div', {class: 'toasts'});
  state = h('span', {class: 'state', role: 'status'});
  undo = button('Undo', takeBack, {class: 'quiet', why: may('operate')});
  undo.hidden = true;
  links = routes.filter((route) => route.nav).map((route) => h('a', {href: `/admin${route.path}`, 'data-nav': route.nav, 'data-group': route.group}, icon(route.icon), route.nav));
  const groups = [...new Set(links.map((link) => link.dataset.group ?? ''))];
  nav = h('nav', {'aria-label': 'Views'}, groups.map((group) => [group && h('p', {class: 'group', 'aria-hidden': 'true'}, group),
    h('ul', {'aria-label': group || null}, links.filter((link) => (link.dataset.group ?? '') === group).map((link) => h('li', {}, link)))]));
  const brand = h('a', {class: 'brand', href: '/admin/servers'}, 'mcpbelt');
  const fold = h('button', {type: 'button', class: 'fold', 'aria-label': 'Menu', onclick: () => nav.classList.toggle('open')}, '☰');
  const who = h('span', {class: 'who'}, said(me.user || me.credential || 'signed in', {clamp: 60}), may('operate') && h('span', {class: 'badge'}, 'may view only'));
  away = h('p', {class: 'note bad away', role: 'status', hidden: true}, 'The program cannot be reached. What is shown may be old; the page goes on by itself when the program is back.');
  replace(document.body,
    h('a', {class: 'skip', href: '#main', onclick: (e) => { e.preventDefault(); main.querySelector('h1')?.focus(); }}, 'Skip to content'),
    h('header', {}, fold, brand, state, h('div', {class: 'actions'}, undo, themes(), who, button('Sign out', () => signOut(), {class: 'quiet'}))),
    nav, h('div', {class: 'column'}, away, main), live, toasts);
  const texts = {live: 'live', lost: 'connection lost, trying again', polling: 'refreshed every 5 seconds'};
  events.listen((event) => {
    if (event.type !== 'state') return;
    state.textContent = texts[event.state] ?? '';
    state.dataset.state = event.state;
    away.hidden = event.state !== 'lost' || document.hidden;
  }, session.signal);
  store.watch(showWaiting, session.signal);
  showUndo();
  show();
}

// themes returns the choice of the theme.
function themes() {
  const select = h('select', {'aria-label': 'Theme', onchange: () => {
    document.documentElement.dataset.theme = select.value;
    if (select.value) localStorage.setItem('theme', select.value);
    else localStorage.removeItem('theme');
  }}, [['', 'Auto theme'], ['light', 'Light'], ['dark', 'Dark']].map(([value, text]) => h('option', {value}, text)));
  select.value = document.documentElement.dataset.theme ?? '';
  return select;
}

let session = new AbortController(); // ends with the session

// watchUse ends the session if no one has used a page of it for an hour. Streams and lists that
// refresh themselves are no use.
function watchUse() {
  let noted = 0;
  const note = () => {
    if (Date.now() - noted < 10000) return;
    noted = Date.now();
    localStorage.setItem('used', noted); // for the pages in other tabs, too
  };
  for (const kind of ['pointerdown', 'keydown', 'wheel']) addEventListener(kind, note, {passive: true, signal: session.signal});
  const timer = setInterval(() => {
    const idle = Date.now() - Number(localStorage.getItem('used'));
    if (idle > longestIdle) signOut('You were signed out, after an hour without use.');
  }, 60000);
  session.signal.addEventListener('abort', () => clearInterval(timer));
  note();
}

// askCredential shows the form to sign in.
function askCredential(why = '') {
  leave();
  leave = () => {};
  session.abort();
  me = null;
  document.title = 'Sign in · mcpbelt';
  const field = h('input', {type: 'password', id: 'credential', autocomplete: 'current-password', required: true, spellcheck: 'false'});
  const error = h('p', {class: 'error', role: 'alert'}, why);
  const form = h('form', {class: 'alone card', onsubmit: async (event) => {
    event.preventDefault();
    error.textContent = '';
    try {
      await signIn({credential: field.value});
    } catch (err) {
      error.textContent = err.message;
      field.select();
    }
  }}, h('h1', {}, 'Sign in'), h('input', {type: 'text', autocomplete: 'username', hidden: true}),
  h('label', {for: 'credential'}, 'API key or token'), h('div', {class: 'hint'}, 'That of this page: mcpbelt serve prints it as “Key of the page”. The key of the gateway is another one.'), field, error, h('button', {class: 'primary'}, 'Sign in'));
  replace(document.body, h('main', {}, form));
  field.focus();
}

async function signIn(body) {
  api.setTab((await (await api.send('POST', '/admin/session', {body})).json()).tab);
  await enter();
}

async function enter() {
  session = new AbortController();
  store.begin(session.signal, () => Boolean(me?.replica)); // not after it is known who that is: the first view waits for it
  me = await api.get('me');
  if (me.roles.includes('operate') && !me.roles.includes('view')) me.roles.push('view');
  watchUse();
  frame();
}

async function signOut(why) {
  await attempt(() => api.send('DELETE', '/admin/session'));
  api.setTab(null);
  askCredential(why);
}

// start shows the page: a link that signs in does so first, and is gone from the address.
async function start() {
  api.onEnd(() => { if (me) askCredential('Your session has ended.'); });
  addEventListener('popstate', () => { if (me) show(); });
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href^="/admin/"]');
    if (!link || !me || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    event.preventDefault();
    go(link.getAttribute('href'));
  });
  const once = new URLSearchParams(location.hash.slice(1)).get('once');
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
  if (/^\/admin\/?$/.test(location.pathname)) history.replaceState(null, '', '/admin/servers');
  try {
    if (once) await signIn({once});
    else if (api.hasTab()) await enter();
    else askCredential();
  } catch (err) {
    if (once && api.hasTab()) { // a link that was used, in a tab that is signed in
      await enter().catch(() => askCredential(err.message));
      return;
    }
    askCredential(err.status === 401 && !once ? '' : err.message);
  }
}

start();
