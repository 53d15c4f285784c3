// One tool: what it is, why it is not offered, and a call of it.

import * as api from '../api.js';
import {h, replace, said, code, number, button} from '../dom.js';
import {form, parse} from '../form.js';
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
    told.map(({what, cure}) => h('div', {class: 'note warn'},
      h('p', {}, said(what)), cure && h('p', {}, h('strong', {}, 'Cure: '), said(cure)))));
}

function about(tool) {
  const hints = Object.entries(tool.hints ?? tool.annotations ?? {}).filter(([key, value]) => value && key !== 'title').map(([key]) => key.replace(/Hint$/, ''));
  return h('section', {class: 'card', 'aria-label': 'Definition'},
    h('div', {class: 'row'}, h('h2', {class: 'grow'}, tool.title ? said(tool.title, {clamp: 200}) : 'Definition'),
      hints.map((hint) => h('span', {class: /destructive/.test(hint) ? 'badge warn' : 'badge'}, said(hint, {clamp: 40})))),
    said(tool.description, {tag: 'p', class: 'quote'}),
    h('dl', {class: 'figures'},
      h('div', {}, h('dt', {}, 'Server'), h('dd', {}, said(tool.server || '–'))),
      h('div', {}, h('dt', {}, 'Tokens of context'), h('dd', {}, number(tool.tokens))),
      h('div', {}, h('dt', {}, 'State'), h('dd', {}, said(tool.state, {clamp: 60})))),
    [['Schema of the arguments', tool.inputSchema], ['Schema of the result', tool.outputSchema]].filter(([, schema]) => schema)
      .map(([title, schema]) => h('details', {}, h('summary', {}, title), code(schema))));
}

// attempt is a form that calls the tool.
function attempt(ctx, name, tool, local) {
  const args = form(tool.inputSchema ?? {type: 'object'});
  const result = h('div', {class: 'view', 'aria-live': 'polite'});
  const call = async () => {
    const given = args.read();
    if (given === undefined) return;
    replace(result, h('p', {class: 'weak'}, 'Calling …'));
    const began = performance.now();
    try {
      const res = await api.send('POST', api.at`tools/${name}/call`, {body: {arguments: given}, signal: ctx.signal});
      replace(result, outcome(parse(await res.text()), performance.now() - began));
    } catch (err) {
      replace(result, err.name !== 'AbortError' && h('p', {class: 'note bad'}, said(err.message)));
    }
  };
  return h('section', {class: 'card', 'aria-label': 'Call'}, h('h2', {}, 'Try it'), args.el,
    h('div', {class: 'actions'}, button('Call', call, {class: 'primary', why: local ? ctx.may('operate', 'stdio:write') : ctx.may('operate')})), result);
}

// outcome shows what came of a call. The result is the server's: it is shown as text.
function outcome({outcome: what, result, error, waiting}, took) {
  const texts = (Array.isArray(result?.content) ? result.content : []).filter((block) => block?.type === 'text');
  const isGood = what === 'ok';
  return [
    h('p', {}, h('span', {class: isGood ? 'badge good' : 'badge bad'}, said(what, {clamp: 40})), ` in ${milliseconds(took)}`),
    error && h('p', {class: 'note bad'}, said(error)),
    waiting && h('p', {}, 'The call waits for approval. ', h('a', {href: '/admin/inbox'}, 'Waiting calls')),
    texts.map((block) => code(String(block.text))),
    result && h('details', {open: texts.length === 0}, h('summary', {}, 'The whole result'), code(result)),
  ];
}
