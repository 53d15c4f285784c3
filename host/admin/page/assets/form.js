// Forms from JSON Schemas. What has no field of its own here, because its schema says too little, too much or
// refers to elsewhere, is asked for as JSON; and all of a form can be. The server checks what is sent.

import {h, replace, said, uid, button} from './dom.js';

const mostFields = 100; // of one object; one with more is asked for as JSON
const mostChoices = 1000; // of a list of values
const deepest = 12; // objects in objects
const mostSteps = 20000; // to make one form: schemas and defaults are a server's, and may be made to have no end
const longestDefault = 10000; // characters of JSON

// A FormError is what is wrong with a field.
class FormError extends Error {
  constructor(message, control) {
    super(message);
    this.control = control;
  }
}

// parse parses JSON, and keeps integers that a number cannot hold, where the browser can.
export function parse(text) {
  return JSON.parse(text, (_, value, context) => (typeof value === 'number' ? exact(value, context?.source) : value));
}

function exact(value, source) {
  return source && /^-?\d+$/.test(source) && !Number.isSafeInteger(value) && JSON.rawJSON ? JSON.rawJSON(source) : value;
}

// form makes a form for values of a schema. The result has el; read(), which returns the value or shows what is wrong and
// returns undefined; and set(value).
export function form(schema, value) {
  let field;
  let raw = null; // the text area, while the whole value is JSON
  const error = h('p', {class: 'error', role: 'alert'});
  const body = h('div', {class: 'view'});
  const tab = (text, show) => h('button', {type: 'button', onclick: show}, text);
  const tabs = [tab('Form', showForm), tab('JSON', showRaw)];

  function attempt(f) {
    error.textContent = '';
    for (const el of body.querySelectorAll('[aria-invalid]')) el.removeAttribute('aria-invalid');
    try {
      return f();
    } catch (err) {
      if (!(err instanceof FormError)) throw err;
      error.textContent = err.message;
      err.control?.setAttribute('aria-invalid', 'true');
      err.control?.focus();
      return undefined;
    }
  }
  function press(i) {
    tabs.forEach((el, j) => el.setAttribute('aria-pressed', String(i === j)));
  }
  function set(given) {
    const place = {root: schema, depth: 0, steps: {left: mostSteps}};
    field = make(schema, place, {label: '', required: true});
    if (given !== undefined) field.set(given);
    raw = null;
    press(0);
    replace(body, field.el);
  }
  function showForm() {
    if (!raw) return;
    const old = raw;
    const given = attempt(() => raw.get());
    if (error.textContent !== '') return;
    set(given);
    if (isShown(given)) return;
    raw = old;
    press(1);
    replace(body, raw.el);
    error.textContent = 'The form has no fields for this value.';
  }
  // isShown reports whether the form says the same as a value; one that lacks something can be completed there.
  function isShown(given) {
    try {
      return canonical(field.get()) === canonical(given);
    } catch (err) {
      if (!(err instanceof FormError)) throw err;
      return true;
    }
  }
  function showRaw() {
    if (raw) return;
    let given;
    try {
      given = field.get();
    } catch (err) {
      if (!(err instanceof FormError)) throw err; // what is there so far is not valid: it begins with the defaults
    }
    raw = rawField({}, {label: 'Value as JSON', required: true});
    raw.set(given ?? {});
    press(1);
    replace(body, raw.el);
  }
  set(value);
  return {
    el: h('div', {class: 'view'}, h('div', {class: 'tabs', role: 'group', 'aria-label': 'How to write the value'}, tabs), body, error),
    read: () => attempt(() => (raw ?? field).get()),
    set,
  };
}

// canonical returns the JSON of a value, with the properties of objects in the order of their names.
function canonical(value) {
  const isObject = (v) => v && typeof v === 'object' && !Array.isArray(v) && !JSON.isRawJSON?.(v);
  const sorted = (v) => Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify(value, (_, v) => (isObject(v) ? sorted(v) : v));
}

// resolve follows the references of a schema, merges what all of must hold, and returns null for what is
// not understood. A schema may be recursive: the fields of a part are made when they are asked for.
function resolve(schema, place, hops = 0) {
  for (; hops < 32 && place.steps.left-- > 0; hops++) {
    if (schema === true) return {};
    if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) return null;
    if (schema.$ref === undefined && schema.allOf === undefined) return schema;
    if (schema.$ref !== undefined) {
      const {$ref, ...rest} = schema;
      const target = lookUp(place.root, $ref);
      if (target === null || typeof target !== 'object') return target === true ? rest : null;
      schema = merge(target, rest);
      continue;
    }
    const {allOf, ...rest} = schema;
    if (!Array.isArray(allOf)) return null;
    const parts = allOf.map((part) => resolve(part, place, hops + 1));
    if (parts.includes(null)) return null;
    schema = parts.reduce(merge, rest);
  }
  return null;
}

// lookUp returns what a reference in the same document leads to, or null.
function lookUp(root, ref) {
  if (typeof ref !== 'string' || !/^#(\/|$)/.test(ref)) return null;
  try {
    const keys = decodeURIComponent(ref.slice(1)).split('/').slice(1).map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    return keys.reduce((at, key) => (at && typeof at === 'object' && Object.hasOwn(at, key) ? at[key] : null), root);
  } catch {
    return null;
  }
}

function merge(a, b) {
  const both = {...a, ...b};
  if (a.properties && b.properties) both.properties = {...a.properties, ...b.properties};
  if (Array.isArray(a.required) && Array.isArray(b.required)) both.required = [...new Set([...a.required, ...b.required])];
  return both;
}

// make makes the field of a schema. get returns its value, or undefined if it is left out; set shows one, and fits
// reports whether a value is of its kind. about has the label, whether a value is required, and whether it was asked for.
function make(schema, place, about) {
  const s = resolve(schema, place);
  const isLong = s?.default && typeof s.default === 'object' && JSON.stringify(s.default).length > longestDefault;
  if (!s || isLong || place.depth > deepest) return rawField(s ?? {}, about);
  const inner = {...place, depth: place.depth + 1};
  if (Object.hasOwn(s, 'const')) return choiceOf([s.const], s, about);
  if (Array.isArray(s.enum)) return s.enum.length <= mostChoices ? choiceOf(s.enum, s, about) : rawField(s, about);
  const isNullable = Array.isArray(s.type) && s.type.length === 2 && s.type.includes('null');
  if (isNullable && (about.asked || !about.required)) return make({...s, type: s.type.find((type) => type !== 'null')}, inner, about); // leaving it out is as good
  const branches = s.oneOf ?? s.anyOf ?? (Array.isArray(s.type) ? s.type.toSorted((a, b) => (a === 'null') - (b === 'null')).map((type) => ({type})) : null);
  if (Array.isArray(branches) && branches.length > 0 && branches.every((b) => Object.hasOwn(b ?? {}, 'const') && typeof b.title === 'string')) {
    return choiceOf(branches.map((b) => b.const), s, about, branches.map((b) => b.title));
  }
  if (Array.isArray(branches) && branches.length > 0 && branches.length <= mostFields) {
    const {oneOf, anyOf, type, ...base} = s;
    const kept = Array.isArray(type) && !oneOf && !anyOf ? base : {...base, type};
    const whole = branches.map((branch) => {
      const part = resolve(branch, place);
      return part && merge(kept, part);
    });
    if (whole.length === 1) return make(whole[0], inner, about);
    return whole.includes(null) ? rawField(s, about) : branchField(whole, branches, s, inner, about);
  }
  switch (s.type ?? (s.properties ? 'object' : '')) {
    case 'boolean': return choiceOf([true, false], s, about);
    case 'null': return choiceOf([null], s, about);
    case 'string': return textField(s, about);
    case 'number':
    case 'integer': return numberField(s, about);
    case 'array': return s.items && typeof s.items === 'object' && !s.prefixItems && !Array.isArray(s.items) ? arrayField(s, inner, about) : rawField(s, about);
    case 'object': {
      const fields = s.properties && typeof s.properties === 'object' ? Object.keys(s.properties).length : 0;
      const isClosed = s.additionalProperties === false || place.depth === 0;
      return fields <= mostFields && (fields > 0 || isClosed) ? objectField(s, inner, about) : rawField(s, about);
    }
  }
  return rawField(s, about);
}

// framed puts a label and what the schema says of it around a control.
function framed(control, s, about, ...more) {
  const id = uid();
  control.id = id;
  const hints = [];
  if (typeof s.description === 'string') hints.push(said(s.description, {clamp: 300}));
  const isRange = typeof s.minimum === 'number' && typeof s.maximum === 'number';
  const bounds = [isRange ? [] : ['minimum', 'at least'], isRange ? [] : ['maximum', 'at most'], ['exclusiveMinimum', 'more than'], ['exclusiveMaximum', 'less than'], ['format', ''], ['pattern', 'pattern']]
    .filter(([key]) => ['string', 'number'].includes(typeof s[key])).map(([key, sign]) => `${sign} ${s[key]}`.trim());
  if (isRange) bounds.unshift(`${s.minimum} to ${s.maximum}`);
  if (bounds.length) hints.push(said(bounds.join(', '), {clamp: 200}));
  const hint = h('div', {class: 'hint', id: `${id}-hint`}, hints.map((node, i) => [i ? ' · ' : '', node]));
  if (hints.length) control.setAttribute('aria-describedby', hint.id);
  if (about.required) control.setAttribute('aria-required', 'true');
  return h('div', {class: 'field'}, h('label', {for: id}, named(s, about)), hints.length > 0 && hint, control, more);
}

// named returns the name of a field.
function named(s, about) {
  const name = about.label || (typeof s.title === 'string' ? s.title : '') || 'Value';
  return [said(name, {clamp: 100}), about.required && about.label && !about.asked ? h('span', {class: 'weak'}, ' (required)') : ''];
}

function lacking(about, control) {
  return new FormError(`${about.label || 'The value'} is required.`, control);
}

function textField(s, about) {
  const types = {date: 'date', email: 'email', uri: 'url', time: 'text', 'date-time': 'text'};
  const isShort = s.format in types || s.pattern !== undefined || s.maxLength <= 100;
  const control = isShort
    ? h('input', {type: types[s.format] ?? 'text', placeholder: s.format === 'date-time' ? '2026-04-01T10:30:00Z' : null})
    : h('textarea', {rows: '1', class: 'text'});
  control.spellcheck = false;
  if (typeof s.default === 'string') control.value = s.default;
  return {
    el: framed(control, s, about),
    get() {
      if (control.value === '' && !about.required) return undefined;
      if (control.value === '' && s.minLength > 0) throw lacking(about, control);
      return control.value;
    },
    set(value) { control.value = typeof value === 'string' ? value : ''; },
    fits: (value) => typeof value === 'string',
  };
}

function numberField(s, about) {
  const control = h('input', {type: 'text', inputmode: s.type === 'integer' ? 'numeric' : 'decimal', autocomplete: 'off'});
  const set = (value) => { control.value = value === undefined || value === null ? '' : JSON.stringify(value); };
  if (typeof s.default === 'number') set(s.default);
  return {
    el: framed(control, s, about),
    get() {
      const text = control.value.trim();
      if (text === '' && !about.required) return undefined;
      if (text === '') throw lacking(about, control);
      if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new FormError(`${about.label || 'The value'} has to be a number.`, control);
      if (s.type === 'integer' && !Number.isInteger(Number(text))) throw new FormError(`${about.label || 'The value'} has to be a whole number.`, control);
      return exact(Number(text), text);
    },
    set,
    fits: (value) => typeof value === 'number' || JSON.isRawJSON?.(value),
  };
}

// choiceOf makes a field that has one of some values, which may have titles.
function choiceOf(values, s, about, titles) {
  const texts = titles ?? values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  const control = h('select', {}, h('option', {value: ''}, about.required ? 'Choose' : 'Left out'),
    texts.map((text, i) => h('option', {value: i}, text.slice(0, 200))));
  const indexOf = (value) => values.findIndex((v) => JSON.stringify(v) === JSON.stringify(value));
  const isOnly = about.required && values.length === 1;
  const set = (value) => { control.value = isOnly ? 0 : indexOf(value) < 0 ? '' : indexOf(value); };
  set(s.default);
  return {
    el: framed(control, s, about),
    get() {
      if (control.value === '' && about.required) throw lacking(about, control);
      return control.value === '' ? undefined : values[Number(control.value)];
    },
    set,
    fits: (value) => indexOf(value) >= 0,
  };
}

// rawField asks for any JSON.
function rawField(s, about) {
  const control = h('textarea', {spellcheck: 'false', placeholder: 'JSON'});
  const set = (value) => { control.value = value === undefined ? '' : JSON.stringify(value, null, 2); };
  set(s.default);
  return {
    el: framed(control, s, {...about, label: about.label ? `${about.label} (JSON)` : 'Value (JSON)'}),
    get() {
      if (control.value.trim() === '' && !about.required) return undefined;
      if (control.value.trim() === '') throw lacking(about, control);
      try {
        return parse(control.value);
      } catch (err) {
        throw new FormError(`${about.label || 'The value'} is not JSON: ${err.message.slice(0, 200)}`, control);
      }
    },
    set,
    fits: () => true,
  };
}

// branchField asks which of several schemas the value has, and then for the value.
function branchField(whole, branches, s, place, about) {
  const names = whole.map((branch, i) => nameOf(branch, branches[i], i, place));
  const select = h('select', {}, about.required ? null : h('option', {value: ''}, 'Left out'), names.map((name, i) => h('option', {value: i}, name)));
  const body = h('div', {class: 'view'});
  let field = null;
  const show = (i) => {
    select.value = i;
    field = i === '' ? null : make(whole[i], place, {label: '', required: true});
    replace(body, field?.el);
  };
  select.addEventListener('change', () => show(select.value));
  show(about.required ? 0 : '');
  return {
    el: h('fieldset', {}, h('legend', {}, named(s, about)), framed(select, {}, {label: 'Kind'}), body),
    get: () => field?.get(),
    set(value) {
      if (value === undefined) return show(about.required ? 0 : '');
      let i = whole.findIndex((branch) => make(branch, place, {...about, required: true}).fits(value));
      if (i < 0) i = 0;
      show(i);
      field.set(value);
      return undefined;
    },
    fits: (value) => whole.some((branch) => make(branch, place, about).fits(value)),
  };
}

// nameOf names one of several schemas by its title, or by what tells it from the others.
function nameOf(branch, own, i, place) {
  if (typeof own?.title === 'string') return own.title.slice(0, 100);
  const marks = Object.entries(branch.properties ?? {}).map(([key, part]) => [key, resolve(part, place)]);
  const mark = marks.find(([, part]) => part && Object.hasOwn(part, 'const'));
  if (mark) return `${mark[0]}: ${JSON.stringify(mark[1].const)}`.slice(0, 100);
  if (Object.hasOwn(branch, 'const')) return JSON.stringify(branch.const).slice(0, 100);
  return typeof branch.type === 'string' ? `${branch.type}` : `kind ${i + 1}`;
}

function arrayField(s, place, about) {
  let items = [];
  const rows = h('div', {class: 'view'});
  const add = (value) => {
    const item = make(s.items, place, {label: `${about.label || 'Item'} ${items.length + 1}`, required: true, asked: true});
    if (value !== undefined) item.set(value);
    const row = h('div', {class: 'row top'}, h('div', {class: 'grow'}, item.el), button('Remove', () => {
      items = items.filter((other) => other !== item);
      row.remove();
      more.focus();
    }));
    items.push(item);
    rows.append(row);
    return item;
  };
  const more = button(`Add ${about.label ? `to ${about.label.slice(0, 60)}` : 'an item'}`, () => add().el.querySelector('input, select, textarea')?.focus());
  const set = (values) => {
    items = [];
    rows.replaceChildren();
    if (Array.isArray(values)) values.forEach(add);
  };
  set(s.default);
  if (about.required && items.length === 0) for (let i = 0; i < Math.min(s.minItems ?? 0, 10); i++) add();
  return {
    el: h('fieldset', {}, h('legend', {}, named(s, about)), typeof s.description === 'string' && said(s.description, {clamp: 300, class: 'hint'}), rows, h('div', {}, more)),
    get: () => (items.length === 0 && !about.required ? undefined : items.map((item) => item.get())),
    set,
    fits: (value) => Array.isArray(value) && (value.length === 0 || make(s.items, place, {}).fits(value[0])),
  };
}

// objectField has a field for each property; objects and lists that may be left out are made when they
// are wanted, so that a recursive schema has an end.
function objectField(s, place, about) {
  const required = Array.isArray(s.required) ? s.required : [];
  const fields = new Map(); // those that are there, by name
  const slots = new Map(); // the places of all
  let others = Object.create(null); // properties that have no field, which are kept
  const rows = h('div', {class: 'view'});

  // give makes a field; one that may be left out again has a button for that.
  function give(name, isOptional) {
    const field = make(s.properties[name], place, {label: name, required: isOptional || required.includes(name), asked: isOptional});
    fields.set(name, field);
    replace(slots.get(name), !isOptional ? field.el : h('div', {class: 'row top'}, h('div', {class: 'grow'}, field.el),
      button('Leave out', () => offer(name).focus(), {title: `Leave out ${name.slice(0, 60)}`})));
    return field;
  }
  function offer(name) {
    fields.delete(name);
    const el = button('Add ', () => give(name, true).el.querySelector('input, select, textarea, button')?.focus());
    el.append(said(name, {clamp: 60}));
    replace(slots.get(name), el);
    return el;
  }
  for (const [name, part] of Object.entries(s.properties ?? {})) {
    const slot = h('div');
    slots.set(name, slot);
    rows.append(slot);
    const resolved = resolve(part, place);
    const isLarge = resolved && (resolved.properties || resolved.items || resolved.oneOf || resolved.anyOf);
    if (isLarge && !required.includes(name)) offer(name);
    else give(name, false);
  }
  const set = (value) => {
    others = Object.create(null);
    const given = new Map(Object.entries(value ?? {}));
    for (const name of slots.keys()) {
      if (given.has(name)) (fields.get(name) ?? give(name, true)).set(given.get(name));
      else if (fields.has(name)) fields.get(name).set(undefined);
    }
    for (const [name, one] of given) if (!slots.has(name)) others[name] = one;
  };
  if (s.default && typeof s.default === 'object') set(s.default);
  const isEmpty = slots.size === 0;
  return {
    el: place.depth <= 1
      ? h('div', {class: 'view'}, isEmpty ? h('p', {class: 'weak'}, 'It takes no arguments.') : rows)
      : h('fieldset', {}, h('legend', {}, named(s, about)), typeof s.description === 'string' && said(s.description, {clamp: 300, class: 'hint'}), rows),
    get() {
      const given = [...fields].map(([name, field]) => [name, field.get()]).filter(([, value]) => value !== undefined);
      if (given.length === 0 && Object.keys(others).length === 0 && !about.required) return undefined;
      return {...others, ...Object.fromEntries(given)};
    },
    set,
    fits: (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && required.every((name) => Object.hasOwn(value, name)) &&
      [...fields].every(([name, field]) => !Object.hasOwn(value, name) || field.fits(value[name])),
  };
}
