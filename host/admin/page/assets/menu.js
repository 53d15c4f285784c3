// Menus: what is done rarely, behind one button.

import {h, button} from './dom.js';

// menu returns a button that shows others. items returns them, as [{text, act, why, danger}] or null.
export function menu(label, items) {
  const el = h('button', {type: 'button', class: 'quiet dots', title: label, 'aria-haspopup': 'menu', 'aria-expanded': 'false', onclick: show},
    h('span', {'aria-hidden': 'true'}, '⋯'), h('span', {class: 'sr'}, label));
  function show() {
    const panel = h('div', {class: 'menu', role: 'menu', popover: 'auto', 'aria-label': label}, items().filter(Boolean).map(({text, act, why, danger}) => {
      const item = button(text, () => {
        panel.hidePopover();
        return act();
      }, {why, class: danger ? 'danger' : ''});
      item.setAttribute('role', 'menuitem');
      return item;
    }));
    const end = new AbortController();
    const close = () => panel.hidePopover();
    panel.addEventListener('keydown', (event) => {
      const all = [...panel.children];
      const at = all.indexOf(document.activeElement);
      const to = {ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      all[to % all.length].focus();
    });
    panel.addEventListener('toggle', (event) => {
      if (event.newState !== 'closed') return;
      end.abort();
      panel.remove();
      el.setAttribute('aria-expanded', 'false');
    });
    addEventListener('scroll', close, {passive: true, signal: end.signal});
    addEventListener('resize', close, {passive: true, signal: end.signal});
    document.body.append(panel);
    panel.showPopover();
    const at = el.getBoundingClientRect();
    const {width, height} = panel.getBoundingClientRect();
    panel.style.left = `${Math.max(8, Math.min(innerWidth - 8, at.right) - width)}px`;
    panel.style.top = `${at.bottom + height + 8 > innerHeight ? Math.max(8, at.top - height - 4) : at.bottom + 4}px`;
    el.setAttribute('aria-expanded', 'true');
    panel.firstElementChild?.focus();
  }
  return el;
}
