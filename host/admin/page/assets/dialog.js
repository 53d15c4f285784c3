// Dialogs, which are those of the browser: it keeps the focus in them and gives it back.

import {h, uid} from './dom.js';

// open shows a dialog with content, and returns its element; done is called after it was closed.
export function open(title, content, done = () => {}) {
  const id = uid();
  const dialog = h('dialog', {'aria-labelledby': id}, h('h2', {id}, title), content);
  dialog.addEventListener('close', () => {
    dialog.remove();
    done(dialog.returnValue);
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// confirm asks before something is done, and returns whether to do it.
export function confirm(title, content, {yes = 'OK', danger = false} = {}) {
  return new Promise((answer) => {
    const dialog = open(title, [
      h('div', {class: 'dialog-body'}, content),
      h('form', {method: 'dialog', class: 'actions'},
        h('button', {value: 'no'}, 'Cancel'),
        h('button', {value: 'yes', class: danger ? 'danger' : 'primary'}, yes)),
    ], (value) => answer(value === 'yes'));
    dialog.querySelector('button[value=yes]').focus();
  });
}
