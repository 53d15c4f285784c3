// How programs that use tools are connected: the address of the gateway, a key, and the entry for each of them.

import * as api from '../api.js';
import {h, replace, said, uid, button, copier, code} from '../dom.js';

const place = 'YOUR_KEY'; // stands for the key in what the API writes

export function mount(root, ctx) {
  const id = uid();
  const address = h('input', {id, type: 'url', spellcheck: 'false', class: 'mono', value: `${location.origin}/mcp`, onchange: load});
  const hint = h('p', {class: 'weak'});
  const keyOut = h('p');
  const choice = h('div', {class: 'chips', role: 'group', 'aria-label': 'Clients'});
  const entry = h('div', {class: 'view', 'aria-live': 'polite'});
  let list = [];
  let chosen = ctx.query.get('client') ?? 'Claude Code';
  let secret = ''; // of a key that was made here
  const make = button('Make a key', async () => {
    const made = await ctx.attempt(() => api.post('keys', {label: `for ${chosen}`, user: ctx.me.user, grant: {}}));
    if (!made) return;
    secret = made.secret;
    replace(keyOut, 'The key ', h('strong', {}, said(made.key.label)), ' is in the entry below. Copy it now: it is not shown again. ', h('a', {href: '/admin/keys'}, 'Say what it allows'));
    show();
  }, {why: ctx.may('operate', 'stdio:write')});

  replace(root,
    h('section', {class: 'card', 'aria-label': 'Address and key'},
      h('h2', {}, '1. The gateway and a key'),
      h('div', {class: 'field slim'}, h('label', {for: id}, 'Address of the gateway'), h('div', {class: 'row'}, h('div', {class: 'grow'}, address), copier(() => address.value, ctx.say, 'Copy the address'))),
      hint,
      h('div', {class: 'row'}, make, h('span', {class: 'weak'}, 'or use a key that you have: that of ', h('code', {}, 'mcpbelt serve'), ' is printed as “Key” when it starts.')),
      keyOut),
    h('section', {class: 'card', 'aria-label': 'Entry'}, h('h2', {}, '2. The entry for your client'), choice, entry));

  function show() {
    replace(choice, list.map(({client}) => h('button', {type: 'button', class: 'chip', 'aria-pressed': String(client === chosen), onclick: () => {
      chosen = client;
      ctx.setQuery({client});
      show();
      [...choice.children].find((el) => el.textContent === client).focus();
    }}, client)));
    const one = list.find(({client}) => client === chosen) ?? list[0];
    if (!one) return;
    const text = one.entry.replace(place, secret || place);
    const command = one.client.toLowerCase().replaceAll(' ', '-');
    replace(entry,
      h('div', {class: 'row'}, h('p', {class: 'grow'}, 'Put this into ', h('code', {}, one.file),
        ' beside what is there', secret ? '.' : [', with your key in the place of ', h('code', {}, place), '.']), copier(() => text, ctx.say, 'Copy the entry')),
      code(text),
      h('p', {class: 'weak'}, 'On this machine, ', h('code', {}, `mcpbelt connect ${command}`), ' writes an entry into the file of the client, and takes it out again: ', h('code', {}, `mcpbelt disconnect ${command}`), '.'));
  }

  async function load() {
    const found = await ctx.attempt(() => api.get(api.at`connect?url=${address.value}`, {signal: ctx.signal}));
    if (!found || ctx.signal.aborted) return;
    list = found;
    show();
  }

  async function look() {
    let status = 200;
    try {
      await api.send('HEAD', '/mcp', {signal: ctx.signal});
    } catch (err) {
      status = err.status;
    }
    hint.textContent = status === 404 || status === 0 ? 'No gateway answers at this address of the page: write where yours is.' : 'Agents get the tools of all servers here.';
  }
  load();
  look();
}
