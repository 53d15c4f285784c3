import {h, replace} from '../dom.js';

// mount shows the view in root. What it returns, if anything, is called when the view is left, after
// ctx.signal was aborted.
export function mount(root, ctx) {
  replace(root, h('p', {}, 'This view is not here yet.'));
}
