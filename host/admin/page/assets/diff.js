// Differences of texts.

import {h, said, table as tableOf} from './dom.js';

const mostWords = 600; // of each text that are compared word by word

// sides returns two elements with what was and what is; what differs is marked in them.
function sides(before = '', after = '') {
  const a = before.split(/(\s+|[^\p{L}\p{N}_]+)/u).filter(Boolean);
  const b = after.split(/(\s+|[^\p{L}\p{N}_]+)/u).filter(Boolean);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [middleA, middleB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const small = middleA.length <= mostWords && middleB.length <= mostWords;
  const [keptA, keptB] = small ? common(middleA, middleB) : [new Set(), new Set()];
  const side = (all, middle, kept, tag) => {
    const el = h('div', {dir: 'auto'});
    const put = (words, name) => words.length && el.append(said(words.join(''), {tag: name}));
    put(all.slice(0, start), 'span');
    let from = 0;
    for (let i = 1; i <= middle.length; i++) {
      if (i < middle.length && kept.has(i) === kept.has(from)) continue;
      put(middle.slice(from, i), kept.has(from) ? 'span' : tag);
      from = i;
    }
    put(all.slice(all.length - end), 'span');
    return el;
  };
  return [side(a, middleA, keptA, 'del'), side(b, middleB, keptB, 'ins')];
}

// common returns where the words are, in each of two texts, of a longest sequence that both have.
function common(a, b) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const [inA, inB] = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      inA.add(i++);
      inB.add(j++);
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
      i++;
    } else {
      j++;
    }
  }
  return [inA, inB];
}

// table shows differences of fields, which are [{field, before, after}].
export function table(fields) {
  const rows = fields.map(({field, before, after}) => {
    const [was, is] = before || after ? sides(before, after) : ['–', '–'];
    return h('tr', {}, h('th', {scope: 'row', title: field}, said(nameOf(field))), h('td', {}, before ? was : '–'), h('td', {}, after ? is : '–'));
  });
  const el = tableOf('Differences', ['Field', 'Was', 'Is'], rows);
  el.firstChild.classList.add('diff');
  return el;
}

// nameOf returns what a field is called, whose path is a JSON Pointer.
function nameOf(path) {
  return path.slice(1).replace(/\/(properties\/)?/g, ' › ').replaceAll('~1', '/').replaceAll('~0', '~') || path;
}
