// A list of any length, of which only the rows that are in sight are in the document. The page scrolls it.

import {h, replace, renew, uid, number} from './dom.js';

const around = 10; // rows above and below those in sight
const compare = new Intl.Collator('en', {numeric: true}).compare;

// list makes a list. columns are [{title, class, cell, sort}], where cell returns what is shown of a row, and sort, if there
// is one, by what it is sorted. key returns what a row is known by, search the text in which a filter looks, whole what is
// shown in place of the cells, if it returns something, and open does what a click on a row or Enter does. chips are kinds of
// rows, [{value, text, has}], of which one can be chosen. ctx is that of the view: the filter, the order and the chip are in
// the address, the place is kept for those who come back. none is what is shown if there are no rows at all. The result has
// el, show(rows), which keeps the place, rows(), which are those that the filter lets through, and focus(key).
export function list({label, one = 'row', columns, key, search, open, ctx, chips = [], whole = () => null, height = 44, none = 'There is nothing here.'}) {
  const id = uid();
  const view = h('div', {class: 'window', role: 'rowgroup'});
  const heads = columns.map((c, i) => h('div', {role: 'columnheader', class: c.class},
    c.sort ? h('button', {type: 'button', class: 'sorter', onclick: () => turn(i)}, c.title) : c.title || h('span', {class: 'sr'}, 'Actions')));
  const head = h('div', {class: 'above', role: 'rowgroup'}, h('div', {class: 'head', role: 'row', 'aria-rowindex': '1'}, heads));
  const grid = h('div', {class: 'list', role: 'grid', 'aria-label': label, tabindex: '0'}, head, view);
  const count = h('span', {class: 'weak count', role: 'status'});
  const field = h('input', {type: 'search', 'aria-label': `Filter: ${label}`, placeholder: `Filter ${label.toLowerCase()}`, value: ctx.query.get('q') ?? '', spellcheck: 'false'});
  const kinds = h('div', {class: 'chips', role: 'group', 'aria-label': 'Kinds'});
  const empty = h('div', {class: 'empty', hidden: true});
  const bar = h('div', {class: 'row bar'}, h('div', {class: 'grow'}, field), kinds, count);
  let chip = ctx.query.get('only') ?? '';
  let order = ctx.query.get('sort') ?? ''; // the title of a column, with a minus before it if the last comes first
  let all = []; // [{row, text}]
  let rows = []; // those that the filter lets through, in their order
  let active = -1; // the index of the row that the keyboard is at
  let activeKey = ctx.place?.key;
  let place = ctx.place; // where the reader was when they left, until the rows are there
  const drawn = new Map(); // elements by the keys of their rows: {el, sign, at}

  function turn(i) {
    const {title} = columns[i];
    order = order === title ? `-${title}` : order === `-${title}` ? '' : title;
    ctx.setQuery({sort: order});
    sift();
  }

  function sift() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(({text}) => words.every((word) => text.includes(word))).map(({row}) => row);
    const has = chips.find(({value}) => value === chip)?.has;
    rows = has ? found.filter(has) : found;
    const column = columns.find(({title}) => title && title === order.replace(/^-/, ''));
    if (column?.sort) {
      const sign = order.startsWith('-') ? -1 : 1;
      const by = new Map(rows.map((row) => [row, column.sort(row)]));
      rows.sort((a, b) => {
        const [x, y] = [by.get(a), by.get(b)];
        return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : compare(x, y));
      });
    }
    columns.forEach((c, i) => c.sort && heads[i].setAttribute('aria-sort', c !== column ? 'none' : order.startsWith('-') ? 'descending' : 'ascending'));
    showChips(found);
    active = activeKey === undefined ? -1 : rows.findIndex((row) => key(row) === activeKey);
    view.style.height = `${rows.length * height}px`;
    grid.setAttribute('aria-rowcount', rows.length + 1);
    grid.hidden = rows.length === 0;
    empty.hidden = rows.length > 0;
    bar.hidden = all.length === 0;
    if (rows.length === 0) replace(empty, all.length ? ['Nothing matches. ', h('button', {type: 'button', class: 'link', onclick: clear}, 'Show all')] : none);
    const text = `${number(all.length)} ${one}${all.length === 1 ? '' : 's'}`;
    count.textContent = rows.length === all.length ? text : `${number(rows.length)} of ${text}`;
    draw(true);
  }

  function showChips(found) {
    if (all.length === 0 || chips.length === 0) return;
    renew(kinds, [{value: '', text: 'All', has: () => true}, ...chips].map(({value, text, has}) => {
      const n = found.filter(has).length;
      return (n > 0 || value === chip || !value) && h('button', {type: 'button', class: 'chip', 'aria-pressed': String(value === chip), onclick: () => {
        chip = value;
        ctx.setQuery({only: chip});
        sift();
      }}, text, h('span', {class: 'weak'}, ` ${number(n)}`));
    }));
  }

  function clear() {
    field.value = chip = '';
    ctx.setQuery({q: '', only: ''});
    sift();
    field.focus();
  }

  // draw puts the rows in sight into the document. Those that are there stay, and are made again only if they have changed;
  // what has the focus keeps it.
  function draw(changed = false) {
    const above = view.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-above / height) - around);
    const last = Math.min(rows.length, Math.ceil((innerHeight - above) / height) + around);
    const wanted = new Map();
    for (let i = first; i < last; i++) wanted.set(key(rows[i]), i);
    const focused = view.contains(document.activeElement) ? document.activeElement : null;
    for (const [k, {el}] of drawn) {
      if (wanted.has(k)) continue;
      el.remove();
      drawn.delete(k);
    }
    let after = null;
    for (const [k, i] of [...wanted].reverse()) {
      const row = rows[i];
      const known = drawn.get(k) ?? {el: h('div', {role: 'row', onclick: (event) => click(event, k)})};
      const sign = changed || !known.sign ? JSON.stringify(row) : known.sign;
      if (sign !== known.sign) fill(known.el, row);
      known.sign = sign;
      if (known.at !== i) {
        known.el.id = `${id}-${i}`;
        known.el.setAttribute('aria-rowindex', i + 2);
        known.el.style.height = `${height}px`;
        known.el.style.top = `${i * height}px`;
        known.at = i;
      }
      known.el.classList.toggle('active', i === active);
      if (known.el.parentNode !== view || known.el.nextSibling !== after) view.insertBefore(known.el, after);
      after = known.el;
      drawn.set(k, known);
    }
    if (focused && focused.isConnected && document.activeElement !== focused) focused.focus({preventScroll: true});
    if (active >= first && active < last) grid.setAttribute('aria-activedescendant', `${id}-${active}`);
    else grid.removeAttribute('aria-activedescendant');
  }

  function fill(el, row) {
    const instead = whole(row);
    renew(el, instead ? h('div', {role: 'gridcell', class: 'whole'}, instead) : columns.map((c) => h('div', {role: 'gridcell', class: c.class}, c.cell(row))));
  }

  function click(event, k) {
    activeKey = k;
    active = rows.findIndex((row) => key(row) === k);
    if (!event.defaultPrevented && active >= 0 && !event.target.closest('a, button, input, label') && !whole(rows[active])) open(rows[active]);
  }

  function move(to) {
    active = Math.max(0, Math.min(rows.length - 1, to));
    activeKey = key(rows[active]);
    const top = view.getBoundingClientRect().top + active * height;
    const above = head.getBoundingClientRect().bottom;
    if (top < above) scrollBy(0, top - above);
    else if (top + height > innerHeight) scrollBy(0, top + height - innerHeight + 8);
    draw();
  }

  grid.addEventListener('keydown', (event) => {
    if (event.target !== grid || rows.length === 0) return;
    const page = Math.max(1, Math.floor(innerHeight / height) - 3);
    const to = {ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1}[event.key];
    if (to !== undefined) move(to);
    else if (event.key === 'Enter' && active >= 0) open(rows[active]);
    else return;
    event.preventDefault();
  });
  addEventListener('scroll', () => draw(), {passive: true, signal: ctx.signal});
  addEventListener('resize', () => draw(), {passive: true, signal: ctx.signal});
  field.addEventListener('input', () => {
    ctx.setQuery({q: field.value});
    sift();
  });
  ctx.keep?.(() => ({key: activeKey}));

  return {
    el: h('div', {class: 'view'}, bar, grid, empty),
    show(shown) {
      all = shown.map((row) => ({row, text: search(row).toLowerCase()}));
      sift();
      if (!place || all.length === 0) return;
      scrollTo(0, place.top);
      if (active >= 0) grid.focus({preventScroll: true});
      place = null;
      draw();
    },
    rows: () => rows,
    // focus gives the focus to the first control of a row, as far as it is in sight.
    focus: (k) => (drawn.get(k)?.el.querySelector('a, button') ?? grid).focus({preventScroll: true}),
  };
}
