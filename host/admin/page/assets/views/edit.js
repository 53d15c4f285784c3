// Adding a server, and changing one: nothing is kept before it is saved, and a test says first whether it works.

import * as api from '../api.js';
import {h, replace, said, uid, button, code} from '../dom.js';
import {command, fields, isLocal, mayChange} from '../servers.js';
import {report} from '../report.js';

// drafts has what was typed into forms that were left, by their paths.
const drafts = new Map();

const transports = [
  ['stdio', 'A program on this machine'], ['streamable_http', 'At an address (HTTP)'], ['sse', 'At an address (SSE, older)'], ['auto', 'At an address (HTTP, else SSE)'],
];

export function mount(root, ctx) {
  if (!ctx.params.id) {
    const local = !ctx.may('operate', 'stdio:write');
    const from = ctx.query.get('from');
    const copied = from ? ctx.attempt(() => api.get(api.at`mcp/servers/${from}`, {signal: ctx.signal})) : Promise.resolve(null);
    copied.then((record) => {
      if (ctx.signal.aborted) return;
      show(root, ctx, null, record ? {...unmasked(record), ...partsOf(record.moreJson)} : {transport: local ? 'stdio' : 'streamable_http'});
      if (record) root.prepend(h('p', {class: 'note warn'}, 'This is a copy of the entry of ', said(record.name, {clamp: 100}), ' in ', said(record.source),
        '. Secrets are not copied: write them anew. While both have one name, one of them runs.'));
    });
    return;
  }
  ctx.attempt(() => api.get(api.at`mcp/servers/${ctx.params.id}`, {signal: ctx.signal})).then((record) => {
    if (ctx.signal.aborted) return;
    if (record) show(root, ctx, record, {...record, ...partsOf(record.moreJson)});
    else replace(root, h('p', {class: 'empty'}, 'There is no such server.'));
  });
}

// show shows the form. old is the record that is changed, or null.
function show(root, ctx, old, start) {
  if (old) ctx.title('Settings of ', said(old.name, {clamp: 100}));
  const transport = h('select', {id: uid(), onchange: arrange}, transports.map(([value, text]) => h('option', {value}, text)));
  if (start.transport && !transports.some(([value]) => value === start.transport)) transport.append(h('option', {value: start.transport}, start.transport));
  const controls = new Map(fields.map((field) => [field.name, control(field, old)]));
  const error = h('p', {class: 'error', role: 'alert'});
  const result = h('section', {class: 'card', 'aria-label': 'Test', hidden: true});
  const exact = h('div', {class: 'view'});
  const enabled = h('input', {type: 'checkbox', checked: start.enabled ?? true});
  const accept = h('input', {type: 'checkbox', checked: true});
  const consent = h('div', {class: 'note', hidden: true},
    h('label', {class: 'check'}, accept, 'Accept the server as it becomes'),
    h('p', {}, 'Then its tools stay offered, as far as they are what was accepted; those that are new or differ wait to be looked at. Without it all of its tools are held back.'));
  const fault = h('div', {class: 'actions', hidden: true});
  const draft = h('div', {class: 'note warn', hidden: true}, 'What you typed here before is shown. ',
    h('button', {type: 'button', class: 'link', onclick: () => { forget(); fill(start); }}, 'Show what is saved'));
  const path = location.pathname;
  let typed = false; // something was, and is not saved
  const buttons = h('div', {class: 'actions'});
  let works = false; // a test says so
  const form = h('form', {class: 'card', novalidate: true, onsubmit: (event) => event.preventDefault(), oninput: () => {
      works = false;
      typed = true;
      arrange();
    }},
    draft,
    h('div', {class: 'field'}, h('label', {for: transport.id}, 'Where it runs'), transport),
    fields.filter((f) => !f.rare).map((f) => controls.get(f.name).el),
    h('details', {}, h('summary', {}, 'More'), fields.filter((f) => f.rare).map((f) => controls.get(f.name).el)),
    h('label', {class: 'check'}, enabled, 'Switched on'),
    exact, consent, error, fault, buttons);
  ctx.signal.addEventListener('abort', () => {
    if (typed) drafts.set(path, Object.fromEntries([['transport', transport.value], ['enabled', enabled.checked], ...fields.map((f) => [f.name, controls.get(f.name).text()])]));
  });
  addEventListener('beforeunload', (event) => { if (typed) event.preventDefault(); }, {signal: ctx.signal});

  function forget() {
    typed = false;
    drafts.delete(path);
    draft.hidden = true;
  }

  // arrange shows what belongs to where the server runs, and how it would be started.
  function arrange() {
    const local = isLocal({transport: transport.value});
    for (const field of fields) controls.get(field.name).el.hidden = Boolean(field.kind) && (field.kind === 'local') !== local;
    const why = old ? mayChange(ctx, {...old, transport: transport.value}) || mayChange(ctx, old) : mayChange(ctx, {transport: transport.value});
    replace(buttons,
      button('Test', test, {class: works ? '' : 'primary', why}),
      button(old ? 'Save' : 'Add', save, {class: works ? 'primary' : '', why}),
      h('a', {class: 'button quiet', href: old ? api.at`/admin/servers/${old.id}` : '/admin/servers'}, 'Cancel'));
    let record;
    try {
      record = read();
    } catch {
      record = {};
    }
    const was = old?.command && command(old);
    const is = local && record.command && command(record);
    replace(exact,
      local && !record.argsJson && /\S\s+\S/.test(record.command ?? '') && h('p', {class: 'note warn'}, 'The command has blanks in it. Its arguments belong into the field below. ',
        h('button', {type: 'button', class: 'link', onclick: split}, 'Put them there')),
      was && was !== is && [h('p', {class: 'weak'}, 'This is started until now:'), code(was)],
      is && [h('p', {class: 'weak'}, was && was !== is ? 'This will be started, exactly:' : 'This is started, exactly:'), code(is)]);
    consent.hidden = !old || !isAnother(record, old);
  }

  // split makes a command line that was typed as a command into a command and its arguments.
  function split() {
    const words = wordsOf(controls.get('command').text());
    controls.get('command').set(words[0]);
    controls.get('argsJson').set(JSON.stringify(words.slice(1)));
    arrange();
    controls.get('argsJson').input.focus();
  }

  // read returns the record that the form says. Of a server of the other kind, the fields are cleared.
  function read() {
    const local = isLocal({transport: transport.value});
    const record = {transport: transport.value};
    for (const field of fields) {
      const isOther = field.kind && (field.kind === 'local') !== local;
      record[field.name] = isOther ? '' : controls.get(field.name).get();
    }
    record.moreJson = moreOf(record);
    for (const field of fields) if (field.path) delete record[field.name];
    return {...record, enabled: enabled.checked};
  }

  // input returns what is sent: all that is not empty or, of a change, what has changed.
  function input() {
    error.textContent = '';
    const record = read();
    for (const field of fields) {
      if (field.required && !controls.get(field.name).el.hidden && !record[field.name]) throw new Wrong(`${field.label} is missing.`, field.name);
    }
    const before = old ?? {};
    const entries = Object.entries(record).filter(([name, value]) => (old ? !isSame(value, before[name]) : value !== '' && value !== 0 && value !== true));
    if (old?.revision) entries.push(['revision', old.revision]);
    return Object.fromEntries(entries);
  }

  async function attempt(f) {
    for (const el of form.querySelectorAll('[aria-invalid]')) el.removeAttribute('aria-invalid');
    try {
      await f();
    } catch (err) {
      if (!(err instanceof Wrong) && !(err instanceof api.APIError)) throw err;
      fault.hidden = err.code !== 'conflict';
      error.textContent = fault.hidden ? err.message : 'This server was changed elsewhere since you opened its settings. Nothing was saved.';
      const at = controls.get(err.field)?.input;
      at?.setAttribute('aria-invalid', 'true');
      at?.focus();
    }
  }

  const test = () => attempt(async () => {
    const body = input();
    result.hidden = false;
    replace(result, h('h2', {}, 'Test'), h('p', {role: 'status'}, 'Testing …'));
    try {
      const answer = await api.post(old ? api.at`mcp/servers/${old.id}/test` : 'test', body, {signal: ctx.signal});
      replace(result, h('h2', {}, 'Test'), report(answer, isLocal({transport: transport.value})), h('p', {class: 'weak'}, 'Nothing was kept.'));
      works = answer.success;
      arrange();
      result.scrollIntoView({block: 'nearest'});
    } catch (err) {
      result.hidden = true;
      throw err;
    }
  });

  const save = () => attempt(async () => {
    const body = input();
    const saved = old ? await api.put(api.at`mcp/servers/${old.id}?accept=${accept.checked && !consent.hidden}`, body) : await api.post('mcp/servers', body);
    forget();
    ctx.changed();
    ctx.say(old ? `${saved.name} was changed.` : `${saved.name} was added.`);
    ctx.go(api.at`/admin/servers/${saved.id}`);
  });

  // again takes the server as it is by now; keep says whether what is written in the form stays.
  async function again(keep) {
    const now = await ctx.attempt(() => api.get(api.at`mcp/servers/${old.id}`, {signal: ctx.signal}));
    if (!now) return;
    old = now;
    start = {...now, ...partsOf(now.moreJson)};
    fault.hidden = true;
    error.textContent = keep ? 'What is written here is kept, and nothing was saved yet. Save puts it in the place of what is there now.' : '';
    if (keep) arrange();
    else {
      forget();
      fill(start);
    }
  }
  replace(fault, button('Keep what is written here', () => again(true)), button('Show it as it is now', () => again(false)));

  function fill(record) {
    if (record.enabled !== undefined) enabled.checked = record.enabled;
    if (record.transport) transport.value = record.transport;
    for (const field of fields) if (record[field.name] !== undefined) controls.get(field.name).set(record[field.name]);
    arrange();
  }

  fill(start);
  if (drafts.has(path)) {
    const {transport: kind, enabled: on, ...texts} = drafts.get(path);
    transport.value = kind;
    enabled.checked = on;
    for (const [name, text] of Object.entries(texts)) controls.get(name).restore(text);
    arrange();
    typed = true;
    draft.hidden = false;
  }
  root.classList.add('slim');
  replace(root, old ? null : paste(fill, (text) => { error.textContent = text; }), form, result);
}

// isAnother reports whether a record starts or connects to another thing than before, as the ledger sees it.
function isAnother(record, before) {
  const names = (json) => { try { return Object.keys(JSON.parse(json || '{}')).sort().join(); } catch { return json; } };
  return ['command', 'argsJson', 'cwd', 'url'].some((name) => !isSame(record[name], before[name])) ||
    ['envJson', 'headersJson'].some((name) => names(record[name]) !== names(before[name])) || isLocal(record) !== isLocal(before);
}

// wordsOf returns the words of a command line, without the quotes around them.
function wordsOf(line) {
  return (line.match(/(?:"(?:\\.|[^"])*"|'[^']*'|\\.|[^\s"'\\])+/g) ?? [line]).map((word) =>
    word.replace(/"((?:\\.|[^"])*)"|'([^']*)'|\\(.)/g, (_, double, single, char) => (double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? char)));
}

// unmasked returns a record without the secrets that it has masked.
function unmasked(record) {
  const clear = (json) => json && JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(json)).map(([name, value]) => [name, value.includes('****') ? '' : value])));
  return {...record, envJson: clear(record.envJson), headersJson: clear(record.headersJson)};
}

// partsOf returns the values of the fields that are keys of moreJson, and the rest of it.
function partsOf(json) {
  const rest = JSON.parse(json || '{}');
  const values = {};
  for (const {name, path, form} of fields) {
    if (!path?.length) continue;
    const parent = path.slice(0, -1).reduce((at, key) => at?.[key], rest);
    const value = parent?.[path.at(-1)];
    if (value === undefined) values[name] = '';
    else {
      values[name] = form === 'lines' ? JSON.stringify(value) : value;
      delete parent[path.at(-1)];
    }
    if (path.length > 1 && parent && Object.keys(parent).length === 0) delete rest[path[0]];
  }
  values.rest = Object.keys(rest).length > 0 ? JSON.stringify(rest, null, 2) : '';
  return values;
}

// moreOf returns moreJson for the values of the fields that are keys of it.
function moreOf(record) {
  let all;
  try {
    all = JSON.parse(record.rest || '{}');
  } catch (err) {
    throw new Wrong(`Other keys of its entry: ${err.message}`, 'rest');
  }
  for (const {name, path, form} of fields) {
    const value = form === 'lines' && record[name] ? JSON.parse(record[name]) : record[name];
    if (!path?.length || !value || value.length === 0) continue;
    const parent = path.slice(0, -1).reduce((at, key) => (at[key] ??= {}), all);
    parent[path.at(-1)] = value;
  }
  return Object.keys(all).length > 0 ? JSON.stringify(all) : '';
}

// A Wrong is what is wrong with a field.
class Wrong extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

function isSame(a, b) {
  return (a || '') === (b || '') || canonical(a) === canonical(b);
}

function canonical(text) {
  const isObject = (v) => v && typeof v === 'object' && !Array.isArray(v);
  try {
    return JSON.stringify(JSON.parse(text || '""'), (_, v) => (isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v));
  } catch {
    return text;
  }
}

// control makes the control of a field. Texts that hold JSON are written as lines, if they can be.
function control(field, old) {
  const id = uid();
  if (field.form === 'check') {
    const box = h('input', {type: 'checkbox', id});
    return {input: box, el: h('label', {class: 'check'}, box, field.label), get: () => box.checked, text: () => box.checked, set: (value) => { box.checked = Boolean(value); }, restore: (value) => { box.checked = value; }};
  }
  const input = ['lines', '=', ':', 'json'].includes(field.form)
    ? h('textarea', {id, spellcheck: 'false', rows: '3'})
    : h('input', {id, type: 'text', inputmode: field.form === 'number' ? 'decimal' : null, autocomplete: 'off', spellcheck: 'false', 'aria-required': field.required && 'true'});
  const hint = h('div', {class: 'hint', id: `${id}-hint`}, field.hint, old && field.masked && ' Masked values stay what they are.');
  if (field.hint) input.setAttribute('aria-describedby', hint.id);
  return {
    input,
    el: h('div', {class: 'field'}, h('label', {for: id}, field.label), field.hint && hint, input),
    text: () => input.value,
    restore: (text) => { input.value = text; },
    get() {
      const text = input.value.trim();
      if (field.form === 'number') {
        if (text && !(Number(text) >= 0)) throw new Wrong(`${field.label} has to be a number.`, field.name);
        return Number(text);
      }
      if (!field.form || field.form === 'json' || text === '' || /^[[{]/.test(text)) return text;
      const lines = input.value.split('\n').filter((line) => line !== '');
      if (field.form === 'lines') return JSON.stringify(lines);
      return JSON.stringify(Object.fromEntries(lines.map((line) => {
        const i = line.indexOf(field.form);
        if (i < 1) throw new Wrong(`${field.label}: ${line.slice(0, 60)} is not of the form ${field.form === '=' ? 'NAME=value' : 'Name: value'}.`, field.name);
        return [line.slice(0, i).trim(), field.form === ':' ? line.slice(i + 1).trim() : line.slice(i + 1)];
      })));
    },
    set(value) {
      input.value = linesOf(field.form, value);
    },
  };
}

function linesOf(form, value) {
  if (!['lines', '=', ':'].includes(form) || !value) return value || '';
  try {
    const parsed = JSON.parse(value);
    const entries = Array.isArray(parsed) ? parsed : Object.entries(parsed).map(([name, v]) => `${name}${form}${form === ':' ? ' ' : ''}${v}`);
    return entries.some((line) => line === '' || line.includes('\n')) || /^[[{]/.test(entries[0] ?? '') ? value : entries.join('\n');
  } catch {
    return value;
  }
}

// paste takes an entry as it is in the files of other programs.
function paste(fill, say) {
  const id = uid();
  const area = h('textarea', {id, spellcheck: 'false', placeholder: '{"mcpServers": {"name": {"command": "…"}}}'});
  const many = h('div', {class: 'view'});
  const wrong = h('p', {class: 'error', role: 'alert'});
  async function read(text, name) {
    wrong.textContent = '';
    try {
      const {entry, warnings} = await api.post('entry', {text, name});
      fill({...none, ...entry, ...partsOf(entry.moreJson)});
      say(warnings.join('\n'));
    } catch (err) {
      if (!(err instanceof api.APIError)) throw err;
      wrong.textContent = err.message;
    }
  }
  const none = {description: '', url: '', headersJson: '', command: '', argsJson: '', envJson: '', cwd: ''};
  return h('details', {class: 'card'}, h('summary', {}, 'Paste an entry'),
    h('div', {class: 'field'}, h('label', {for: id}, 'An entry of a config file of any program, as JSON'), area),
    many, wrong,
    h('div', {}, button('Fill in the form', async () => {
      const all = entriesOf(area.value);
      if (all.length > 1) {
        wrong.textContent = '';
        replace(many, h('p', {}, `There are ${all.length} servers. Fill in the form for one of them:`),
          h('div', {class: 'actions'}, all.map(([name, entry]) => button(name, () => read(JSON.stringify(entry), name)))));
        return;
      }
      await read(area.value);
    })));
}

// entriesOf returns the servers of a config file, by their names, as far as it is plain JSON.
function entriesOf(text) {
  try {
    const file = JSON.parse(text);
    const servers = file.mcpServers ?? file.servers ?? file.context_servers ?? file.mcp?.servers ?? file.mcp ?? {};
    return Object.entries(servers).filter(([, entry]) => entry && typeof entry === 'object');
  } catch {
    return [];
  }
}
