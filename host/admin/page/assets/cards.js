// Lists of cards, each of which is for something that waits to be decided.

import {h, replace} from './dom.js';

// cards returns a function that shows items in root. An item whose key was shown before keeps its card, and with it the
// focus and what the reader has seen, as long as sign says the same of it: what is decided is what was looked at. If it says
// another thing, the card says so, and shows the new item when it is asked to.
export function cards(root, {key, sign, render, empty}) {
  const shown = new Map(); // by key: {el, sign}
  const list = h('ul', {class: 'stack'});
  const none = h('p', {class: 'empty'}, empty);
  function make(item) {
    const one = {el: h('li', {class: 'card'}), sign: sign(item)};
    const again = () => {
      replace(one.el, render(item));
      one.sign = sign(item);
      one.next = null;
    };
    one.update = (newer) => {
      if (sign(newer) === (one.next ?? one.sign)) return;
      item = newer;
      one.next = sign(newer);
      one.el.querySelector('.outdated')?.remove();
      one.el.prepend(h('p', {class: 'outdated note warn', role: 'status'}, 'This has changed since you began to look at it. ',
        h('button', {type: 'button', class: 'link', onclick: () => { again(); focus(one.el); }}, 'Show it as it is now')));
    };
    again();
    return one;
  }
  replace(root, none, list);
  // fresh shows all items as they are now, also those that have changed.
  return (items, {fresh = false} = {}) => {
    const keys = new Set(items.map(key));
    const active = [...list.children].findIndex((el) => el.contains(document.activeElement));
    for (const [k, one] of shown) {
      if (keys.has(k)) continue;
      one.el.remove();
      shown.delete(k);
    }
    items.forEach((item, i) => {
      let one = shown.get(key(item));
      if (one && fresh && one.sign !== sign(item)) {
        one.el.remove();
        one = null;
      }
      if (one) one.update(item);
      else shown.set(key(item), one = make(item));
      if (list.children[i] !== one.el) list.insertBefore(one.el, list.children[i] ?? null);
    });
    none.hidden = items.length > 0;
    list.hidden = items.length === 0;
    if (active >= 0 && !list.contains(document.activeElement)) focus(list.children[Math.min(active, items.length - 1)]);
  };
}

// focus moves the focus to the heading of a card or, without one, to that of the view.
function focus(card) {
  (card?.querySelector('h2') ?? document.querySelector('h1'))?.focus();
}
