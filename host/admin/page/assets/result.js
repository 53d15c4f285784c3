// What a tool has answered: its blocks of content, and its structured result as a table. All of it is the server's words.

import {h, said, code, number} from './dom.js';

const mostRows = 200; // of a table; the whole result has the others
const mostColumns = 12;
const media = {image: /^image\/(png|jpeg|gif|webp|avif)$/, audio: /^audio\/[\w.+-]+$/};

// shown returns the elements for a result. Of one that has neither content nor structure there are none.
export function shown(result) {
  const blocks = Array.isArray(result?.content) ? result.content : [];
  const table = tableOf(result?.structuredContent);
  const isCopy = (block) => table && block?.type === 'text' && isSame(block.text, result.structuredContent);
  return [table, blocks.filter((block) => !isCopy(block)).map(blockOf)];
}

// isSame reports whether a text is a value in JSON, as servers send both.
function isSame(text, value) {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

function blockOf(block) {
  switch (block?.type) {
    case 'text':
      return code(String(block.text));
    case 'image':
    case 'audio':
      return medium(block.type, block.mimeType, block.data);
    case 'resource_link':
      return h('p', {}, 'A resource: ', said(block.title || block.name, {clamp: 200}), ' ', said(block.uri, {class: 'mono', clamp: 300}));
    case 'resource': {
      const r = block.resource ?? {};
      const kind = Object.keys(media).find((name) => media[name].test(r.mimeType));
      return [h('p', {class: 'weak'}, 'A resource: ', said(r.uri, {class: 'mono', clamp: 300})),
        r.text !== undefined ? code(String(r.text)) : kind ? medium(kind, r.mimeType, r.blob) : bytes(r.mimeType, r.blob)];
    }
    default:
      return code(block);
  }
}

// medium shows an image, or plays a sound, if it is of a kind that can do nothing else.
function medium(type, kind, data) {
  const safe = media[type].test(kind) && /^[\w+/=\s-]+$/.test(data ?? '');
  if (!safe) return bytes(kind, data);
  const src = `data:${kind};base64,${data}`;
  return type === 'image'
    ? h('img', {class: 'medium', src, alt: `An image of the kind ${kind} from the server`})
    : h('audio', {class: 'medium', src, controls: true, 'aria-label': `A sound of the kind ${kind} from the server`});
}

function bytes(kind, data) {
  return h('p', {class: 'weak'}, 'About ', number(Math.round(String(data ?? '').length * 0.75)), ' bytes of the kind ', said(kind || 'unknown', {clamp: 60}), ', which are not shown.');
}

const isPlain = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && !JSON.isRawJSON?.(value);

// tableOf returns a table of a list of objects, or of an object that has one list alone; null if it is nothing of the kind.
function tableOf(value) {
  if (isPlain(value)) {
    const lists = Object.values(value).filter(Array.isArray);
    if (lists.length === 1 && lists[0].length > 0 && lists[0].every(isPlain)) value = lists[0];
    else return null;
  }
  if (!Array.isArray(value) || value.length === 0 || !value.every(isPlain)) return null;
  const names = [...new Set(value.slice(0, mostRows).flatMap((row) => Object.keys(row)))];
  if (names.length === 0 || names.length > mostColumns) return null;
  const cell = (v) => (v === undefined ? '' : said(typeof v === 'string' ? v : JSON.stringify(v), {clamp: 200}));
  const isNumber = (v) => typeof v === 'number' || Boolean(JSON.isRawJSON?.(v));
  return [h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Structured result'}, h('table', {},
    h('thead', {}, h('tr', {}, names.map((name) => h('th', {scope: 'col'}, said(name, {clamp: 60}))))),
    h('tbody', {}, value.slice(0, mostRows).map((row) => h('tr', {}, names.map((name) => h('td', {class: isNumber(row[name]) && 'num'}, cell(row[name])))))))),
  value.length > mostRows && h('p', {class: 'weak'}, `and ${number(value.length - mostRows)} more rows`)];
}
