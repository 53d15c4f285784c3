// The tools of all servers.

import * as api from '../api.js';
import {h, replace, said, number, plural} from '../dom.js';
import {list} from '../list.js';
import {watch} from '../store.js';
import {toolText, toolBadge} from '../servers.js';

export function mount(root, ctx) {
  const summary = h('p', {class: 'weak'}, 'Loading …');
  const table = list({
    label: 'Tools', one: 'tool', ctx,
    none: [h('p', {}, 'No server has tools now.'), h('a', {class: 'button primary', href: '/admin/servers'}, 'Look at the servers')],
    key: (tool) => `${tool.server}\n${tool.name}`,
    search: (tool) => `${tool.name} ${tool.server} ${tool.title ?? ''} ${tool.description ?? ''} ${toolText(tool.state)}`,
    open: (tool) => ctx.go(api.at`/admin/tools/${tool.name}`),
    chips: ['listed', 'quarantined', 'rejected'].map((value) => ({value, text: toolText(value, true), has: (tool) => tool.state === value})),
    columns: [
      {title: 'Tool', class: 'wide', sort: (tool) => tool.name, cell: (tool) => h('a', {href: api.at`/admin/tools/${tool.name}`, tabindex: '-1'}, said(tool.name, {clamp: 100}))},
      {title: 'Server', class: 'wide-only', sort: (tool) => tool.server, cell: (tool) => said(tool.server, {clamp: 60})},
      {title: 'Description', class: 'wide wide-only weak', cell: (tool) => said(tool.title || tool.description, {clamp: 200})},
      {title: 'State', class: 'state-column', sort: (tool) => tool.state, cell: (tool) => toolBadge(tool.state)},
      {title: 'Tokens', class: 'narrow num', sort: (tool) => tool.tokens, cell: (tool) => number(tool.tokens)},
    ],
  });
  const missing = h('input', {type: 'text', 'aria-label': 'Name of a tool that is missing', placeholder: 'Name of a missing tool', spellcheck: 'false', autocomplete: 'off'});
  const ask = h('form', {class: 'row ask', onsubmit: (event) => {
    event.preventDefault();
    if (missing.value.trim()) ctx.go(api.at`/admin/tools/${missing.value.trim()}`);
  }}, h('div', {class: 'grow'}, missing), h('button', {}, 'Why is it not offered?'));
  replace(root, h('div', {class: 'row'}, h('div', {class: 'grow'}, summary), ask), table.el);

  async function load() {
    const tools = await ctx.attempt(() => api.get('tools', {signal: ctx.signal}));
    if (ctx.signal.aborted) return;
    if (!tools) {
      summary.textContent = '';
      return;
    }
    const tokens = tools.reduce((sum, tool) => sum + (tool.state === 'listed' ? tool.tokens : 0), 0);
    summary.textContent = tools.length === 0 ? '' : `The definitions of the tools that are offered take about ${plural(tokens, 'token')} of context.`;
    table.show(tools);
  }

  let last;
  watch(({servers}) => { // the tools of all servers are many: they are read again only if they may be others
    const sign = JSON.stringify((servers ?? []).map((s) => [s.name, s.tools, s.quarantined, s.decisions, s.tokens]));
    if (!servers || sign === last) return;
    last = sign;
    load();
  }, ctx.signal);
}
