// A list of any length, of which only the rows that are in sight are in the document.

import {h, uid, number} from './dom.js';

const around = 8; // rows above and below those in sight

// list makes a list. columns are [{title, class, cell}], where cell returns what is shown of a row; key
// returns what a row is known by, search the text in which a filter looks, and open does what a click on
// it or Enter does. The result has el, and show(rows), which keeps the place and the filter.
export function list({label, columns, key, search, open, height = 44, none = 'There is nothing here.', filter = '', onfilter = () => {}}) {
  const id = uid();
  const view = h('div', {class: 'window', role: 'rowgroup'});
  const head = h('div', {class: 'above', role: 'rowgroup'}, h('div', {class: 'head', role: 'row', 'aria-rowindex': '1'},
    columns.map((c) => h('div', {role: 'columnheader', class: c.class}, c.title))));
  const grid = h('div', {class: 'list', role: 'grid', 'aria-label': label, tabindex: '0'}, head, view);
  const count = h('span', {class: 'weak', role: 'status'});
  const field = h('input', {type: 'search', 'aria-label': `Filter: ${label}`, placeholder: 'Filter', value: filter, spellcheck: 'false'});
  const empty = h('p', {class: 'empty', hidden: true});
  let all = []; // [{row, text}]
  let rows = []; // those that the filter lets through
  let active = -1; // the index of the row that the keyboard is at
  let activeKey;
  const drawn = new Map(); // elements by the index of their rows

  function sift() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows = all.filter(({text}) => words.every((word) => text.includes(word))).map(({row}) => row);
    active = activeKey === undefined ? -1 : rows.findIndex((row) => key(row) === activeKey);
    view.style.height = `${rows.length * height}px`;
    grid.setAttribute('aria-rowcount', rows.length + 1);
    grid.hidden = rows.length === 0;
    empty.hidden = rows.length > 0;
    empty.textContent = all.length ? 'Nothing matches the filter.' : none;
    count.textContent = rows.length === all.length ? number(all.length) : `${number(rows.length)} of ${number(all.length)}`;
    draw(true);
  }

  // draw puts the rows in sight into the document. Those that are there stay, unless they may have changed.
  function draw(changed = false) {
    const first = Math.max(0, Math.floor(grid.scrollTop / height) - around);
    const last = Math.min(rows.length, Math.ceil((grid.scrollTop + (grid.clientHeight || 600)) / height) + around);
    for (const [i, el] of drawn) {
      if (!changed && i >= first && i < last) continue;
      el.remove();
      drawn.delete(i);
    }
    for (let i = first; i < last; i++) {
      if (drawn.has(i)) continue;
      const row = rows[i];
      const el = h('div', {id: `${id}-${i}`, role: 'row', 'aria-rowindex': i + 2, class: i === active && 'active'},
        columns.map((c) => h('div', {role: 'gridcell', class: c.class}, c.cell(row))));
      el.style.height = `${height}px`;
      el.style.top = `${i * height}px`;
      el.addEventListener('click', (event) => {
        if (!event.defaultPrevented && !event.target.closest('a, button')) open(row);
      });
      drawn.set(i, el);
      view.append(el);
    }
    if (drawn.has(active)) grid.setAttribute('aria-activedescendant', `${id}-${active}`);
    else grid.removeAttribute('aria-activedescendant');
  }

  function move(to) {
    drawn.get(active)?.classList.remove('active');
    active = Math.max(0, Math.min(rows.length - 1, to));
    activeKey = key(rows[active]);
    const top = active * height;
    const seen = grid.clientHeight - head.offsetHeight;
    if (top < grid.scrollTop) grid.scrollTop = top;
    if (top + height > grid.scrollTop + seen) grid.scrollTop = top + height - seen;
    draw();
    drawn.get(active)?.classList.add('active');
  }

  grid.addEventListener('keydown', (event) => {
    if (event.target !== grid || rows.length === 0) return;
    const page = Math.max(1, Math.floor(grid.clientHeight / height) - 2);
    const to = {ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1}[event.key];
    if (to !== undefined) move(to);
    else if (event.key === 'Enter' && active >= 0) open(rows[active]);
    else return;
    event.preventDefault();
  });
  grid.addEventListener('scroll', () => draw(), {passive: true});
  new ResizeObserver(() => draw()).observe(grid);
  field.addEventListener('input', () => {
    grid.scrollTop = 0;
    sift();
    onfilter(field.value);
  });

  return {
    el: h('div', {class: 'view'}, h('div', {class: 'row'}, h('div', {class: 'grow'}, field), count), grid, empty),
    show(shown) {
      all = shown.map((row) => ({row, text: search(row).toLowerCase()}));
      sift();
    },
  };
}
