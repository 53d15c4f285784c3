// Adding a server, and changing one: nothing is kept before it is saved, and a test says first whether it works.

import * as api from '../api.js';
import {h, replace, said, uid, button, code} from '../dom.js';
import {command, isLocal, mayChange} from '../servers.js';
import {report} from '../report.js';

// fields are those of a record. Those of kind local are for programs, those of kind remote for addresses.
const fields = [
  {name: 'name', label: 'Name', hint: 'Tools are known by it, too.', required: true},
  {name: 'description', label: 'Description'},
  {name: 'command', kind: 'local', label: 'Command', hint: 'A program, by its path or as found in PATH. No shell reads it.', required: true},
  {name: 'argsJson', kind: 'local', label: 'Arguments', hint: 'One in each line.', form: 'lines'},
  {name: 'envJson', kind: 'local', label: 'Variables', hint: 'NAME=value in each line. Masked values stay what they are.', form: '='},
  {name: 'cwd', kind: 'local', label: 'Folder'},
  {name: 'url', kind: 'remote', label: 'Address', hint: 'Such as https://example.com/mcp', required: true},
  {name: 'headersJson', kind: 'remote', label: 'Headers', hint: 'Name: value in each line. Masked values stay what they are.', form: ':'},
  {name: 'connectTimeoutSeconds', label: 'Connect within (seconds)', form: 'number', rare: true},
  {name: 'readTimeoutSeconds', label: 'Answer within (seconds)', form: 'number', rare: true},
];

const transports = [
  ['stdio', 'A program on this machine'], ['streamable_http', 'At an address (HTTP)'], ['sse', 'At an address (SSE, older)'], ['auto', 'At an address (HTTP, else SSE)'],
];

export function mount(root, ctx) {
  if (!ctx.params.id) {
    const local = !ctx.may('operate', 'stdio:write');
    show(root, ctx, null, {transport: local ? 'stdio' : 'streamable_http'});
    return;
  }
  ctx.attempt(() => api.get(api.at`mcp/servers/${ctx.params.id}`, {signal: ctx.signal})).then((record) => {
    if (ctx.signal.aborted) return;
    if (record) show(root, ctx, record, record);
    else replace(root, h('p', {class: 'empty'}, 'There is no such server.'));
  });
}

// show shows the form. old is the record that is changed, or null.
function show(root, ctx, old, start) {
  if (old) ctx.title('Settings of ', said(old.name, {clamp: 100}));
  const transport = h('select', {id: uid(), onchange: arrange}, transports.map(([value, text]) => h('option', {value}, text)));
  if (start.transport && !transports.some(([value]) => value === start.transport)) transport.append(h('option', {value: start.transport}, start.transport));
  const controls = new Map(fields.map((field) => [field.name, control(field)]));
  const error = h('p', {class: 'error', role: 'alert'});
  const result = h('section', {class: 'card', 'aria-label': 'Test', hidden: true});
  const exact = h('div', {class: 'view'});
  const buttons = h('div', {class: 'actions'});
  let works = false; // a test says so
  const form = h('form', {class: 'card', novalidate: true, onsubmit: (event) => event.preventDefault(), oninput: () => {
      works = false;
      arrange();
    }},
    h('div', {class: 'field'}, h('label', {for: transport.id}, 'Where it runs'), transport),
    fields.filter((f) => !f.rare).map((f) => controls.get(f.name).el),
    h('details', {}, h('summary', {}, 'More'), fields.filter((f) => f.rare).map((f) => controls.get(f.name).el)),
    exact, error, buttons);

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
    replace(exact, local && record.command && [h('p', {class: 'weak'}, 'This is started, exactly:'), code(command(record))]);
  }

  // read returns the record that the form says. Of a server of the other kind, the fields are cleared.
  function read() {
    const local = isLocal({transport: transport.value});
    const record = {transport: transport.value};
    for (const field of fields) {
      const isOther = field.kind && (field.kind === 'local') !== local;
      record[field.name] = isOther ? '' : controls.get(field.name).get();
    }
    return record;
  }

  // input returns what is sent: all that is not empty or, of a change, what has changed.
  function input() {
    error.textContent = '';
    const record = read();
    for (const field of fields) {
      if (field.required && !controls.get(field.name).el.hidden && !record[field.name]) throw new Wrong(`${field.label} is missing.`, field.name);
    }
    const before = old ?? {};
    const entries = Object.entries(record).filter(([name, value]) => (old ? !isSame(value, before[name]) : value !== '' && value !== 0));
    if (old?.revision) entries.push(['revision', old.revision]);
    return Object.fromEntries(entries);
  }

  async function attempt(f) {
    for (const el of form.querySelectorAll('[aria-invalid]')) el.removeAttribute('aria-invalid');
    try {
      await f();
    } catch (err) {
      if (!(err instanceof Wrong) && !(err instanceof api.APIError)) throw err;
      error.textContent = err.code === 'conflict' ? `${err.message} Open the settings again to see what they are now.` : err.message;
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
    const saved = old ? await api.put(api.at`mcp/servers/${old.id}`, body) : await api.post('mcp/servers', body);
    ctx.changed();
    ctx.say(old ? `${saved.name} was changed.` : `${saved.name} was added.`);
    ctx.go(api.at`/admin/servers/${saved.id}`);
  });

  function fill(record) {
    if (record.transport) transport.value = record.transport;
    for (const field of fields) if (record[field.name] !== undefined) controls.get(field.name).set(record[field.name]);
    arrange();
  }

  fill(start);
  root.classList.add('slim');
  replace(root, old ? null : paste(fill, (text) => { error.textContent = text; }), form, result);
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
  try {
    return JSON.stringify(JSON.parse(text || '""'));
  } catch {
    return text;
  }
}

// control makes the control of a field. Texts that hold JSON are written as lines, if they can be.
function control(field) {
  const id = uid();
  const input = ['lines', '=', ':'].includes(field.form)
    ? h('textarea', {id, spellcheck: 'false', rows: '3'})
    : h('input', {id, type: 'text', inputmode: field.form === 'number' ? 'decimal' : null, autocomplete: 'off', spellcheck: 'false', 'aria-required': field.required && 'true'});
  const hint = h('div', {class: 'hint', id: `${id}-hint`}, field.hint);
  if (field.hint) input.setAttribute('aria-describedby', hint.id);
  return {
    input,
    el: h('div', {class: 'field'}, h('label', {for: id}, field.label), field.hint && hint, input),
    get() {
      const text = input.value.trim();
      if (field.form === 'number') {
        if (text && !(Number(text) >= 0)) throw new Wrong(`${field.label} has to be a number.`, field.name);
        return Number(text);
      }
      if (!field.form || text === '' || /^[[{]/.test(text)) return text;
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
  const none = {description: '', url: '', headersJson: '', command: '', argsJson: '', envJson: '', cwd: ''};
  return h('details', {class: 'card'}, h('summary', {}, 'Paste an entry'),
    h('div', {class: 'field'}, h('label', {for: id}, 'An entry of a config file of any program, as JSON'), area),
    h('div', {}, button('Fill in the form', async () => {
      say('');
      try {
        const read = await api.post('entry', {text: area.value});
        fill({...none, ...read.entry});
        say(read.warnings.join('\n'));
      } catch (err) {
        if (!(err instanceof api.APIError)) throw err;
        say(err.message);
      }
    })));
}
