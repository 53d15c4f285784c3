// One tool: what it is, why it is not offered, and a call of it.

import * as api from '../api.js';
import {confirm} from '../dialog.js';
import {h, replace, said, code, number, button} from '../dom.js';
import {form, parse} from '../form.js';
import {shown} from '../result.js';
import {toolBadge} from '../servers.js';
import {milliseconds} from '../spark.js';

export function mount(root, ctx) {
  const name = ctx.params.name;
  ctx.title(said(name, {clamp: 100}));
  replace(root, h('p', {class: 'weak'}, 'Loading …'));
  start(root, ctx, name);
}

async function start(root, ctx, name) {
  const absent = (err) => {
    if (err.name === 'AbortError') throw err;
    return null;
  };
  const [tool, why, servers] = await Promise.all([
    api.get(api.at`tools/${name}`, {signal: ctx.signal}).catch(absent),
    api.get(api.at`why?name=${name}`, {signal: ctx.signal}).catch(absent),
    api.get('servers', {signal: ctx.signal}).catch(absent),
  ]).catch(() => []);
  if (ctx.signal.aborted) return;
  replace(root, why && reasons(why), tool ? about(tool) : !why && h('p', {class: 'empty'}, 'There is no such tool.'),
    tool?.state === 'listed' && attempt(ctx, name, tool, servers?.find((server) => server.name === tool.server)?.local));
}

// reasons says why a tool is not offered, or what a call of one that is offered waits for.
function reasons(why) {
  const title = why.offered ? 'What holds calls back' : 'Why is it not offered?';
  const told = (why.reasons ?? []).filter(({where}) => !why.offered || where !== 'list');
  return told.length > 0 && h('section', {class: 'card', 'aria-label': title}, h('h2', {}, title),
    told.map(({what, cure, where}) => h('div', {class: 'note warn'},
      h('p', {}, said(what)), cure && h('p', {}, h('strong', {}, 'Cure: '), said(cure), ' ', why.server && link(why.server, where)))));
}

// link leads to where what holds a tool of a server back is cured.
function link(server, where) {
  if (where === 'policy' || where === 'gate') return null;
  const [path, text] = {
    ledger: [api.at`/admin/changes?server=${server}`, 'Review it'], login: [api.at`/admin/logins?server=${server}`, 'Log in'], launch: ['/admin/launches', 'Look at its command'],
    filter: [api.at`/admin/servers/${server}/edit`, 'Edit it'], entry: [api.at`/admin/servers/${server}/edit`, 'Edit it'],
  }[where] ?? [api.at`/admin/servers/${server}`, 'Look at the server'];
  return h('a', {href: path}, text);
}

function about(tool) {
  const hints = Object.entries(tool.hints ?? tool.annotations ?? {}).filter(([key, value]) => value && key !== 'title').map(([key]) => key.replace(/Hint$/, ''));
  return h('section', {class: 'card', 'aria-label': 'Definition'},
    h('div', {class: 'row'}, h('h2', {class: 'grow'}, tool.title ? said(tool.title, {clamp: 200}) : 'Definition'),
      hints.map((hint) => h('span', {class: /destructive/.test(hint) ? 'badge warn' : 'badge'}, said(hint, {clamp: 40})))),
    said(tool.description, {tag: 'p', class: 'quote'}),
    h('dl', {class: 'figures'},
      h('div', {}, h('dt', {}, 'Server'), h('dd', {}, tool.server ? h('a', {href: api.at`/admin/servers/${tool.server}`}, said(tool.server)) : '–')),
      h('div', {}, h('dt', {}, 'Tokens of context'), h('dd', {}, number(tool.tokens))),
      h('div', {}, h('dt', {}, 'State'), h('dd', {}, toolBadge(tool.state)))),
    [['Schema of the arguments', tool.inputSchema], ['Schema of the result', tool.outputSchema]].filter(([, schema]) => schema)
      .map(([title, schema]) => h('details', {}, h('summary', {}, title), code(schema))));
}

const mostCalls = 20; // of one tool that are kept
const calls = new Map(); // by the name of a tool: the calls that were tried in this tab, the newest first

// attempt is a form that calls the tool.
function attempt(ctx, name, tool, local) {
  const args = form(tool.inputSchema ?? {type: 'object'});
  const result = h('div', {class: 'view', 'aria-live': 'polite'}, h('p', {class: 'weak'}, 'What the tool answers is shown here.'));
  const history = h('details', {hidden: true}, h('summary', {}, 'Calls that were tried here'));
  const list = h('ol', {class: 'log', reversed: true});
  const why = local ? ctx.may('operate', 'stdio:write') : ctx.may('operate');
  history.append(list);
  const panel = h('div');
  let cancel = null; // ends the call that runs
  let closeApp = () => {}; // the app in the panel

  // ask makes a request that answers what came of a call, and shows that.
  async function ask(one, method, path, body, doing) {
    const end = new AbortController();
    cancel?.abort();
    cancel = end;
    closeApp();
    const seconds = h('span', {class: 'weak'});
    const progress = h('div', {class: 'row', hidden: true});
    const questions = h('div', {class: 'view'});
    const ticker = setInterval(() => { seconds.textContent = ` for ${Math.round((performance.now() - one.began) / 1000)} s`; }, 1000);
    replace(result, h('div', {class: 'row', role: 'status'}, h('span', {class: 'weak'}, doing), seconds,
      button(method === 'POST' ? 'Cancel' : 'Do not wait', () => end.abort(), {class: 'quiet'})), progress, questions, one.decision);
    try {
      const res = await api.send(method, path, {body, signal: AbortSignal.any([end.signal, ctx.signal])});
      if (method === 'GET') return parse(await res.text());
      for await (const {event, data} of api.stream(res)) {
        if (event === 'end') return parse(data);
        if (event === 'progress') showProgress(progress, parse(data));
        if (event === 'question') questions.append(question(ctx, api.at`tools/${name}`, parse(data)));
      }
      return {outcome: 'error', error: 'The program has ended the answer before its end.'};
    } catch (err) {
      if (err.name !== 'AbortError') return {outcome: 'error', error: err.message};
      return end === cancel && !ctx.signal.aborted ? {outcome: 'cancelled'} : null;
    } finally {
      clearInterval(ticker);
    }
  }
  async function call() {
    const given = args.read();
    if (given === undefined) return;
    const one = {given, began: performance.now()};
    calls.set(name, [one, ...calls.get(name) ?? []].slice(0, mostCalls));
    one.came = await ask(one, 'POST', api.at`tools/${name}/try`, {arguments: given}, 'Calling …');
    if (one.came) finish(one);
  }
  // finish shows what came of a call; of one that waits for approval, when that was decided.
  async function finish(one) {
    while (one.came.waiting) {
      const id = one.came.waiting;
      one.decision = decide(ctx, id, showApp);
      remember();
      const came = await ask(one, 'GET', api.at`tools/${name}/calls/${id}`, undefined, 'The call waits for approval …');
      if (!came) return;
      if (came.outcome === 'cancelled') {
        replace(result, h('p', {class: 'weak'}, 'The call still waits for approval, among the ', h('a', {href: '/admin/inbox'}, 'waiting calls'), '.'));
        return;
      }
      one.came = came;
    }
    one.took = performance.now() - one.began;
    replace(result, outcome(one, tool));
    remember();
    if (one.came.app) await showApp(one.came.app);
  }
  // showApp shows the app of a call until the next one, until it is closed or the view is left.
  async function showApp(call) {
    let shown = null;
    let closed = false;
    const close = closeApp = async () => {
      closed = true;
      await shown?.close('it was closed');
      el.remove();
    };
    const note = h('p', {class: 'weak', role: 'status'}, 'Loading …');
    const place = h('div');
    const el = h('section', {class: 'view', 'aria-label': 'App'}, h('div', {class: 'row'}, h('h3', {class: 'grow'}, 'The app of ', said(call.title, {clamp: 100})),
      button('Close the app', close, {class: 'quiet'})), note, place);
    panel.append(el);
    ctx.signal.addEventListener('abort', close);
    try {
      const path = '/admin/apps.js'; // which the program has if it shows apps
      const {show} = await import(path);
      shown = await show(place, {call, bridge: '/api/v1/' + api.at`tools/${name}/apps`, headers: api.tabHeaders,
        openLink: (url) => confirm('Open a link of this app?', said(url, {class: 'mono'}), {yes: 'Open'})});
      if (closed) return void shown.close();
      note.textContent = '';
      el.scrollIntoView({block: 'nearest'});
      shown.ended.then((reason) => { note.textContent = `The app has ended: ${reason}.`; });
    } catch (err) {
      replace(note, said(err.message));
      note.className = 'note bad';
    }
  }
  function remember() {
    const made = calls.get(name) ?? [];
    history.hidden = made.length === 0;
    replace(list, made.map((one) => h('li', {}, badgeOf(one.came?.outcome), ' ', said(JSON.stringify(one.given), {class: 'mono', clamp: 120}), ' ',
      button('Fill in', () => args.set(one.given), {class: 'link'}), ' ',
      one.took !== undefined && button('Show', () => replace(result, outcome(one, tool)), {class: 'link'}))));
  }
  remember();
  const waits = calls.get(name)?.find((one) => one.came?.waiting);
  if (waits) finish(waits);
  return h('section', {class: 'card', 'aria-label': 'Call'}, h('h2', {}, 'Try it'), h('div', {class: 'try'},
    h('div', {class: 'view'}, args.el, h('div', {class: 'actions'}, button('Call', call, {class: 'primary', why})), history), result), panel);
}

// showProgress shows how far a call has come, as its server says.
function showProgress(el, {progress, total, message}) {
  const isPart = total > 0 && progress <= total;
  el.hidden = false;
  replace(el, h('progress', {'aria-label': 'Progress', ...(isPart && {max: total, value: progress})}),
    h('span', {class: 'weak'}, isPart ? `${number(progress)} of ${number(total)}` : number(progress)), message && said(message, {clamp: 200}));
}

// question asks what a server wants to know in the course of a call: a form, or whether to visit a page.
function question(ctx, path, {id, server, asked: {message, requestedSchema, url}, warnings}) {
  const fields = !url && form(requestedSchema);
  const wrong = h('p', {class: 'error', role: 'alert'});
  const answer = (action) => async () => {
    const content = action === 'accept' && fields ? fields.read() : undefined;
    if (action === 'accept' && fields && content === undefined) return;
    try {
      await api.post(`${path}/${api.at`questions/${id}`}`, {action, content});
      replace(el, h('p', {class: 'weak'}, {accept: url ? 'You agreed to visit the page.' : 'Your answer was sent.', decline: 'You declined.'}[action]));
    } catch (err) {
      if (!(err instanceof api.APIError)) throw err;
      wrong.textContent = err.message;
    }
  };
  const agree = url
    ? h('a', {class: 'button primary', href: url, target: '_blank', rel: 'noopener noreferrer', onclick: answer('accept')}, 'Open the page')
    : button('Send', answer('accept'), {class: 'primary'});
  const el = h('section', {class: 'note', 'aria-label': 'A question'}, h('h3', {}, 'The server ', said(server, {clamp: 60}), ' asks'), said(message, {tag: 'p', class: 'quote'}),
    (warnings ?? []).map((text) => h('p', {}, h('strong', {}, 'Beware: '), said(text))),
    url && h('p', {}, 'A page of ', h('strong', {}, said(new URL(url).host)), ': ', said(url, {class: 'mono'})),
    fields && fields.el, wrong, h('div', {class: 'actions'}, agree, button('Decline', answer('decline'))));
  return el;
}

// decide is how a call that waits is decided about where it was tried; showApp shows the app that it has then.
function decide(ctx, id, showApp) {
  const why = ctx.may('operate');
  const act = (verb, body = {}) => async () => {
    const done = await ctx.attempt(() => api.post(api.at`calls/${id}/${verb}`, body));
    if (done?.app) await showApp(done.app);
  };
  return h('div', {class: 'note'}, h('p', {}, 'A person has to approve this call, here or among the ', h('a', {href: '/admin/inbox'}, 'waiting calls'), '.'),
    h('div', {class: 'actions'}, button('Approve', act('approve', {app: true}), {class: 'primary', why}), button('Deny', act('deny'), {why})));
}

const words = {ok: 'done', tool_error: 'the tool says that it failed', asked: 'waits for approval', cancelled: 'cancelled', denied: 'denied'};

function badgeOf(what = 'running') {
  const kind = what === 'ok' ? 'good' : ['asked', 'cancelled', 'denied', 'running'].includes(what) ? 'warn' : 'bad';
  return h('span', {class: `badge ${kind}`}, said(words[what] ?? String(what).replaceAll('_', ' '), {clamp: 60}));
}

// outcome shows what came of a call. The result is the server's: it is shown as text.
function outcome({came: {outcome: what, result, error}, given, took}, tool) {
  const parts = shown(result).flat(3).filter(Boolean);
  return [
    h('p', {}, badgeOf(what), ` in ${milliseconds(took)}`),
    error && h('p', {class: 'note bad'}, said(error)),
    parts,
    result && h('details', {open: parts.length === 0}, h('summary', {}, 'The whole result'), code(result)),
    tool.server && h('details', {}, h('summary', {}, 'The same call in a terminal'), code(commandOf(tool, given))),
  ];
}

// commandOf returns the call as a line for a shell.
function commandOf(tool, given) {
  const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const args = Object.entries(given ?? {}).map(([key, value]) => quote(typeof value === 'string' ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`));
  return ['mcpbelt call', quote(tool.server), quote(tool.tool || tool.name), ...args].join(' ');
}
