// How the servers do, what is wrong with those that do not do well, and what would cure it.

import {get, at} from '../api.js';
import {follow} from '../events.js';
import {h, replace, button, said, time, number} from '../dom.js';

const levels = {healthy: 'good', degraded: 'warn', unhealthy: 'bad'};
const order = ['unhealthy', 'degraded', 'healthy'];
const actions = {
  wait: 'wait: it is tried again by itself', login: 'log in', allow: 'allow its launch', accept: 'accept its tools', restart: 'restart it',
  enable: 'enable it', configure: 'change its settings', set_secret: 'set a variable or credential',
};
const places = {login: () => '/admin/logins', allow: () => '/admin/launches', accept: (s) => `/admin/changes?${new URLSearchParams({server: s})}`};

export function mount(root, ctx) {
  const summary = h('p', {role: 'status'});
  const body = h('ul', {class: 'stack'});
  const diagnoses = new Map(); // by server: what was found when it was asked for
  replace(root, summary, body);
  let shown = '';
  async function load() {
    const all = await ctx.attempt(() => get('health', {signal: ctx.signal}));
    if (!all || JSON.stringify(all) === shown) return;
    shown = JSON.stringify(all);
    summary.textContent = all.length === 0 ? 'There are no servers.' : order.map((level) => [level, all.filter((s) => s.level === level).length])
      .filter(([, count]) => count > 0).map(([level, count]) => `${count} ${level}`).join(', ');
    const focused = body.contains(document.activeElement) && document.activeElement.dataset.server;
    all.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
    replace(body, all.map(card));
    if (focused) [...body.querySelectorAll('[data-server]')].find((el) => el.dataset.server === focused)?.focus();
  }
  function card(s) {
    const place = h('div', {'aria-live': 'polite'}, diagnoses.has(s.server) && diagnosis(diagnoses.get(s.server)));
    const ask = button('Diagnose', async () => {
      const found = await ctx.attempt(() => get(at`health/${s.server}`, {signal: ctx.signal}));
      if (!found) return;
      diagnoses.set(s.server, found);
      replace(place, diagnosis(found));
    }, {title: `Diagnose ${s.server}`});
    ask.dataset.server = s.server;
    const calls = s.calls?.total ?? {};
    return h('li', {class: 'card'},
      h('div', {class: 'row'}, h('h2', {class: 'grow'}, h('a', {href: `/admin/servers/${encodeURIComponent(s.server)}`}, said(s.title || s.server))),
        h('span', {class: `badge ${levels[s.level]}`}, s.level), h('span', {class: 'badge'}, s.stage)),
      s.error && h('p', {class: 'error'}, said(s.error)),
      h('dl', {},
        actions[s.action] && [h('dt', {}, 'What helps'), h('dd', {}, places[s.action] ? h('a', {href: places[s.action](s.server)}, actions[s.action]) : actions[s.action])],
        s.since && [h('dt', {}, 'So since'), h('dd', {}, time(s.since))],
        s.retryAt && [h('dt', {}, 'Tried again'), h('dd', {}, time(s.retryAt), ` after ${s.failures ?? 0} failures`)],
        s.lastError && s.lastError !== s.error && [h('dt', {}, 'Last failure'), h('dd', {}, said(s.lastError), ' ', time(s.lastErrorAt))],
        [h('dt', {}, 'Tools'), h('dd', {}, `${number(s.tools)} listed`, s.quarantined > 0 && `, ${s.quarantined} held back`, s.rejected > 0 && `, ${s.rejected} not let in`)],
        [h('dt', {}, 'Calls'), h('dd', {}, Object.entries(calls).filter(([, n]) => n > 0).map(([name, n]) => `${number(n)} ${name}`).join(', ') || 'none yet')],
        s.restarts > 0 && [h('dt', {}, 'Restarts'), h('dd', {}, number(s.restarts))],
        s.process && [h('dt', {}, 'Process'), h('dd', {}, String(s.process.pid), s.process.memoryBytes && `, ${number(Math.round(s.process.memoryBytes / 1e6))} MB`)],
        s.users?.map((u) => [h('dt', {}, 'User ', said(u.user)), h('dd', {}, u.phase, u.error && [': ', said(u.error)])])),
      h('div', {class: 'actions'}, ask), place);
  }
  follow(load, ctx.signal);
}

// diagnosis shows what was found out about a server.
function diagnosis(d) {
  return h('div', {class: 'note'}, h('p', {}, said(d.doing)),
    d.program && h('p', {}, 'It is ', said(d.program), ' ', said(d.version ?? ''), d.protocol && `, and speaks ${d.protocol}`),
    d.pinged && h('p', {}, d.pingError ? ['It did not answer: ', said(d.pingError)] : `It answered in ${Math.round((d.pingSeconds ?? 0) * 1000)} ms.`),
    d.hints?.length > 0 && h('ul', {}, d.hints.map((hint) => h('li', {}, said(hint.text)))));
}
