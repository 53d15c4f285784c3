// The views, by their paths below /admin. nav is what a view is called in the navigation; under names
// the entry of the navigation that one without has, and waiting where the API has what waits to be decided there, and how
// much of it that is.

import * as board from './board.js';
import * as server from './server.js';
import * as edit from './edit.js';
import * as tools from './tools.js';
import * as tool from './tool.js';
import * as changes from './changes.js';
import * as launches from './launches.js';
import * as inbox from './inbox.js';
import * as logins from './logins.js';
import * as keys from './keys.js';
import * as activity from './activity.js';
import * as health from './health.js';

const length = (all) => all.length;
const held = (servers) => servers.reduce((sum, server) => sum + server.quarantined, 0); // the changes themselves are long

export const routes = [
  {path: '/servers', title: 'Servers', nav: 'Servers', view: board},
  {path: '/add', title: 'Add a server', under: 'Servers', view: edit},
  {path: '/servers/:id', title: 'Server', under: 'Servers', view: server},
  {path: '/servers/:id/edit', title: 'Settings', under: 'Servers', view: edit},
  {path: '/tools', title: 'Tools', nav: 'Tools', view: tools},
  {path: '/tools/:name', title: 'Tool', under: 'Tools', view: tool},
  {path: '/changes', title: 'Changes', nav: 'Changes', waiting: ['servers', held], view: changes},
  {path: '/launches', title: 'Launches', nav: 'Launches', waiting: ['launches', length], view: launches},
  {path: '/inbox', title: 'Waiting calls', nav: 'Inbox', waiting: ['calls', length], view: inbox},
  {path: '/logins', title: 'Logins', nav: 'Logins', view: logins},
  {path: '/keys', title: 'API keys', nav: 'Keys', view: keys},
  {path: '/activity', title: 'Activity', nav: 'Activity', view: activity},
  {path: '/health', title: 'Health', nav: 'Health', view: health},
];
