// API keys: they are made, changed and revoked here. A secret is shown once.

import {get, post, put, del, at, isMissing} from '../api.js';
import {open, confirm} from '../dialog.js';
import {h, replace, button, said, table, time, uid} from '../dom.js';

const patterns = {profiles: 'Profiles', servers: 'Servers', tools: 'Tools'};

export function mount(root, ctx) {
  const may = {make: ctx.may('operate', 'stdio:write'), revoke: ctx.may('operate')};
  ctx.actions.append(button('New key', () => edit(null), {class: 'primary', why: may.make}));
  async function load() {
    let keys;
    try {
      keys = await get('keys', {signal: ctx.signal});
    } catch (err) {
      if (err.name !== 'AbortError') replace(root, h('p', {class: 'empty'}, isMissing(err) ? 'This program keeps no keys of its own: those that may use it are said where it is started.' : err.message));
      return;
    }
    replace(root, keys.length === 0 ? h('div', {class: 'empty'}, h('p', {}, 'There are no keys. A client that connects to the gateway needs one.'), button('New key', () => edit(null), {class: 'primary', why: may.make})) : table('Keys', ['Key', 'User', 'What it allows', 'Last used', 'Expires', 'Actions'], keys.map((k) => h('tr', {},
          h('th', {scope: 'row'}, said(k.label || 'no label'), h('div', {class: 'mono weak'}, k.id)),
          h('td', {}, k.user ? said(k.user) : '–'),
          h('td', {}, said(allows(k.grant))),
          h('td', {}, time(k.used)),
          h('td', {}, k.expires ? time(k.expires) : 'never'),
          h('td', {}, h('div', {class: 'actions'},
            button('Change', () => edit(k), {why: may.make, title: `Change ${k.label || k.id}`}),
            button('Revoke', () => revoke(k), {class: 'danger', why: may.revoke, title: `Revoke ${k.label || k.id}`})))))));
  }
  // edit changes a key, or makes one if it is null.
  function edit(key) {
    const grant = key?.grant ?? {};
    const value = {
      label: input('Label', 'text', key?.label ?? '', 'What the key is for.'),
      user: input('User', 'text', key?.user ?? '', 'On whose behalf it is used. Empty: no user.'),
      ...Object.fromEntries(Object.entries(patterns).map(([name, text]) =>
        [name, input(text, 'text', (grant[name] ?? []).join(', '), 'Patterns such as git*, with commas between them. Empty: all.')])),
      expires: input('Expires', 'date', (key?.expires ?? '').slice(0, 10), 'At the beginning of that day, in UTC. Empty: never.'),
    };
    const flags = {readOnly: check('Only tools that say that they only read', grant.readOnly), manage: check('May manage servers', grant.manage)};
    const error = h('p', {class: 'error', role: 'alert'});
    const form = h('form', {class: 'view', onsubmit: async (event) => {
      event.preventDefault();
      const texts = (name) => value[name].field.value.split(',').map((text) => text.trim()).filter(Boolean);
      const made = {...grant, readOnly: flags.readOnly.field.checked, manage: flags.manage.field.checked};
      for (const name of Object.keys(patterns)) made[name] = texts(name);
      const body = {label: value.label.field.value, user: value.user.field.value, grant: made};
      const day = value.expires.field.value; // of a key that is changed, the hour stays if the day does
      if (day) body.expires = day === key?.expires?.slice(0, 10) ? key.expires : `${day}T00:00:00Z`;
      try {
        const answer = key ? await put(at`keys/${key.id}`, body) : await post('keys', body);
        dialog.close();
        if (key) ctx.say(`${body.label || key.id} was changed.`);
        else show(answer);
        await load();
      } catch (err) {
        error.textContent = err.message;
      }
    }}, Object.values(value).map((v) => v.el), Object.values(flags).map((v) => v.el), error,
    h('div', {class: 'actions'}, h('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel'), h('button', {class: 'primary'}, key ? 'Save' : 'Make the key')));
    const dialog = open(key ? 'Change a key' : 'New key', form);
    value.label.field.focus();
  }
  // show shows a new secret; it is gone with the dialog.
  function show({key, secret}) {
    const field = h('input', {type: 'text', readonly: true, class: 'mono', value: secret, 'aria-label': 'The secret of the key'});
    open(`The key ${key.label || key.id}`, [
      h('p', {}, 'Copy it now: it is not shown again. Clients use it with the address of the gateway: ', h('a', {href: '/admin/connect', target: '_blank'}, 'Connect a client'), '.'), field,
      h('form', {method: 'dialog', class: 'actions'},
        button('Copy', async () => {
          field.select();
          await navigator.clipboard?.writeText(secret).then(() => ctx.say('The key was copied.'), () => ctx.say('Copy the text that is selected.'));
        }), h('button', {class: 'primary'}, 'I have it')),
    ]);
    field.select();
  }
  async function revoke(k) {
    if (!await confirm('Revoke this key?', h('p', {}, said(k.label || k.id), ' stops working at once. That cannot be undone.'), {yes: 'Revoke', danger: true})) return;
    await ctx.attempt(async () => {
      await del(at`keys/${k.id}`);
      ctx.say(`${k.label || k.id} was revoked.`);
    });
    await load();
  }
  load();
}

// allows says what a grant allows.
function allows(g) {
  const parts = Object.entries(patterns).filter(([name]) => g?.[name]?.length).map(([name, text]) => `${text.toLowerCase()} ${g[name].join(', ')}`);
  if (parts.length === 0) parts.push('all servers');
  if (g?.readOnly) parts.push('only reading');
  if (g?.manage) parts.push('managing servers');
  if (g?.mode) parts.push(`mode ${g.mode}`);
  return parts.join('; ');
}

function input(label, type, value, hint) {
  const id = uid();
  const field = h('input', {id, type, value, 'aria-describedby': `${id}-hint`, spellcheck: 'false', autocomplete: 'off'});
  return {field, el: h('div', {class: 'field'}, h('label', {for: id}, label), field, h('span', {id: `${id}-hint`, class: 'hint'}, hint))};
}

function check(text, checked) {
  const field = h('input', {type: 'checkbox', checked: Boolean(checked)});
  return {field, el: h('label', {class: 'check'}, field, text)};
}
