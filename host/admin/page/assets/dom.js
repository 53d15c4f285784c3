// Elements of the document. There is no way here to make one from a text: what servers say becomes
// text nodes alone.

const SVG = 'http://www.w3.org/2000/svg';
const shownFirst = 2000; // characters of a long text
const shownMore = 10000; // characters that each further click shows

// hidden are characters that do not show, or that turn the direction of others, each as often as it is repeated.
const hidden = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{e0000}-\u{e01ef}])\1*/gu;

// h makes an element: h('button', {class: 'quiet', onclick: f, disabled: true}, 'Save'). A property that is a
// function is a listener; false, null and undefined leave an attribute out.
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

// svg makes an element of a drawing.
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(el, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === 'function') {
      el.addEventListener(name.slice(2), value);
    } else if (name === 'value' || name === 'checked' || name === 'indeterminate') {
      el[name] = value;
    } else if (name.startsWith('on') || name === 'style' || name === 'srcdoc') {
      throw new TypeError(`dom: ${name} of ${el.tagName} is not set from text`);
    } else if (name === 'href' && !/^(https?:\/\/|\/(?![/\\])|#)/i.test(value)) {
      el.setAttribute('title', value); // a link to somewhere else is no link
    } else {
      el.setAttribute(name, value === true ? '' : value);
    }
  }
  el.append(...children.flat(Infinity).filter(isShown));
  return el;
}

function isShown(child) {
  return child !== false && child !== null && child !== undefined;
}

// replace puts children in the place of all that an element has.
export function replace(el, ...children) {
  el.replaceChildren(...children.flat(Infinity).filter(isShown));
  return el;
}

// renew is replace for what may hold the focus: the control in the same place has it afterwards.
export function renew(el, ...children) {
  const at = [...el.querySelectorAll('a, button, input')].indexOf(document.activeElement);
  replace(el, ...children);
  if (at >= 0) (el.querySelectorAll('a, button, input')[at] ?? el.querySelector('a, button'))?.focus({preventScroll: true});
  return el;
}

// said returns an element with a text that a server or a user wrote: isolated from the direction of what
// is around it, with its invisible characters shown, and clamped if it is long.
export function said(text, {tag = 'bdi', class: name, clamp = shownFirst} = {}) {
  text = String(text ?? '');
  const el = h(tag, {class: name, dir: tag === 'bdi' ? null : 'auto'});
  let shown = 0;
  const more = h('button', {type: 'button', class: 'link', onclick: () => show(shownMore)});
  function show(count) {
    const part = text.slice(shown, shown + count);
    shown += part.length;
    more.remove();
    el.append(...visible(part));
    if (shown >= text.length) return;
    more.textContent = `… show more (${number(text.length - shown)} characters)`;
    el.append(more);
  }
  show(text.length <= 1.5 * clamp ? text.length : clamp); // a short rest is no reason to cut
  return el;
}

// visible returns the nodes of a text, with the names of its invisible characters.
function visible(text) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > from) nodes.push(text.slice(from, match.index));
    const name = 'U+' + match[1].codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    const count = match[0].length / match[1].length;
    nodes.push(h('span', {class: 'hidden-char', title: 'an invisible character'}, count > 1 ? `${name} ×${count}` : name));
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

// code returns a block with a text, or with a value as JSON.
export function code(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const el = said(text, {tag: 'pre'});
  if (text.length > 400 || text.split('\n').length > 12) el.tabIndex = 0; // it may scroll
  return el;
}

// table returns a table in which a wide one scrolls. rows are its tr elements; on a narrow screen their cells are below each
// other, with the titles of their columns.
export function table(label, titles, rows) {
  for (const row of rows) [...row.children].forEach((cell, i) => cell.setAttribute('data-title', titles[i]));
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label}, h('table', {class: 'stacked'},
    h('thead', {}, h('tr', {}, titles.map((text) => h('th', {scope: 'col'}, text)))), h('tbody', {}, rows)));
}

let lastID = 0;

// uid returns an ID that no other element has.
export function uid() {
  return `e${++lastID}`;
}

// button returns a button whose action may take long: it cannot be clicked again meanwhile. why, if there
// is one, says why it cannot be clicked at all.
export function button(text, action, {class: name, why, title} = {}) {
  const el = h('button', {type: 'button', class: name, title: why || title, 'aria-disabled': why ? 'true' : null}, text);
  el.addEventListener('click', async (event) => {
    event.stopPropagation();
    if (why || el.getAttribute('aria-busy') === 'true') return;
    el.setAttribute('aria-busy', 'true');
    try {
      await action(event);
    } finally {
      el.removeAttribute('aria-busy');
    }
  });
  if (why) el.append(h('span', {class: 'sr'}, ` (${why})`));
  return el;
}

// copier returns a button that copies a text; say tells that it did.
export function copier(text, say, title = 'Copy') {
  return button('Copy', async () => {
    try {
      await navigator.clipboard.writeText(text());
      say('Copied.');
    } catch { // the page is not at an address that may
      say('Copy the text by hand: the browser does not let this page do it.', {failed: true});
    }
  }, {title});
}

// number formats a number for people.
export function number(n) {
  return Number(n ?? 0).toLocaleString('en');
}

// plural counts things: "1 tool", "2 tools".
export function plural(n, one) {
  return `${number(n)} ${one}${n === 1 ? '' : one.endsWith('ch') ? 'es' : 's'}`;
}

// time returns an element with a time, and how long ago that was.
export function time(at) {
  const date = new Date(at);
  if (!at || Number.isNaN(date.getTime()) || date.getFullYear() < 2) return h('span', {}, '–');
  return h('time', {datetime: date.toISOString(), title: date.toISOString()}, ago(date));
}

function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat('en', {numeric: 'auto'});
  for (const [unit, length] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
  }
  return format.format(Math.trunc(seconds), 'second');
}
