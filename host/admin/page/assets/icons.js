// Small drawings beside words.

import {svg} from './dom.js';

const paths = {
  servers: 'M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.01M5 11.5h.01',
  tools: 'M10 2.5a3.5 3.5 0 0 0-3.3 4.7l-4.2 4.2 2.1 2.1 4.2-4.2A3.5 3.5 0 0 0 13.5 6l-2 1-2.5-2.5z',
  connect: 'M5.5 2v3M10.5 2v3M3.5 5h9v3a4.5 4.5 0 0 1-9 0zM8 12.5V15',
  changes: 'M8 2v7M4.5 5.5h7M4.5 13h7',
  launches: 'M5 3l8 5-8 5z',
  calls: 'M2.5 3.5h11v7H8l-3 3v-3H2.5z',
  logins: 'M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8zM2.5 14c.6-2.6 2.8-4 5.5-4s4.9 1.4 5.5 4',
  keys: 'M5 13.5a2.5 2.5 0 1 1 0-5 2.5 2.5 0 0 1 0 5zM6.8 9.2l6.2-6.2M11 5l2 2',
  activity: 'M1.5 8.5h3l2-5 3 9 2-4h3',
};

// icon returns the drawing of a name. The word beside it says the same.
export function icon(name) {
  return svg('svg', {class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true', fill: 'none', stroke: 'currentColor', 'stroke-width': 1.4, 'stroke-linecap': 'round', 'stroke-linejoin': 'round'}, svg('path', {d: paths[name]}));
}
