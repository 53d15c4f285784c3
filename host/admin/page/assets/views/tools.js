// The tools of all servers.

import * as api from '../api.js';
import {follow} from '../events.js';
import {h, replace, said, number} from '../dom.js';
import {list} from '../list.js';

export function mount(root, ctx) {
  const table = list({
    label: 'Tools', none: 'No server has tools now.', filter: ctx.query.get('q') ?? '',
    onfilter: (q) => ctx.setQuery({q}),
    key: (tool) => `${tool.server}\n${tool.name}`,
    search: (tool) => `${tool.name} ${tool.server} ${tool.title ?? ''} ${tool.description ?? ''} ${tool.state}`,
    open: (tool) => ctx.go(api.at`/admin/tools/${tool.name}`),
    columns: [
      {title: 'Tool', class: 'wide', cell: (tool) => said(tool.name, {clamp: 100})},
      {title: 'Server', class: 'wide-only', cell: (tool) => said(tool.server, {clamp: 60})},
      {title: 'Description', class: 'wide wide-only', cell: (tool) => said(tool.title || tool.description, {clamp: 200})},
      {title: 'Tokens', class: 'narrow num', cell: (tool) => number(tool.tokens)},
      {title: 'State', class: 'state-column', cell: (tool) => said(tool.state, {clamp: 40})},
    ],
  });
  const summary = h('p', {class: 'weak'}, 'Loading …');
  let last = '';
  replace(root, summary, table.el);

  follow(async () => {
    const tools = await ctx.attempt(() => api.get('tools', {signal: ctx.signal}));
    if (!tools) {
      summary.textContent = '';
      return;
    }
    const data = JSON.stringify(tools);
    if (data === last || ctx.signal.aborted) return;
    last = data;
    const tokens = tools.reduce((sum, tool) => sum + (tool.state === 'listed' ? tool.tokens : 0), 0);
    summary.textContent = `${number(tools.length)} tools; the schemas of those that are listed take about ${number(tokens)} tokens of context.`;
    table.show(tools);
  }, ctx.signal, (event) => event.kind !== 'call');
}
