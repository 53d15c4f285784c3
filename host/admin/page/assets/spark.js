// Small drawings of numbers.

import {h, svg} from './dom.js';

const width = 96;
const height = 24;

// spark draws the latest latencies, in milliseconds, the newest at the right.
export function spark(values) {
  const all = (values ?? []).filter(Number.isFinite).slice(-30);
  if (all.length === 0) return h('span', {class: 'weak'}, 'no calls yet');
  const last = all[all.length - 1];
  const most = Math.max(...all, 1);
  const x = (i) => (all.length === 1 ? width : (i / (all.length - 1)) * width).toFixed(1);
  const y = (v) => (height - 2 - (v / most) * (height - 4)).toFixed(1);
  const label = `Latency: last ${milliseconds(last)}, at most ${milliseconds(Math.max(...all))} in ${all.length} calls`;
  return h('span', {class: 'row'},
    svg('svg', {class: 'spark', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label},
      svg('polyline', {points: all.map((v, i) => `${x(i)},${y(v)}`).join(' '), fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5, 'stroke-linejoin': 'round'}),
      svg('circle', {cx: x(all.length - 1), cy: y(last), r: 2, fill: 'currentColor'})),
    h('span', {class: 'weak'}, milliseconds(last)));
}

// milliseconds formats a time that something took.
export function milliseconds(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
