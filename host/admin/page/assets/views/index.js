// The views, by their paths below /admin. nav is what a view is called in the navigation, below group; under names the entry of
// the navigation that one without has, and waiting counts what waits to be decided there. The code of a view is loaded when it
// is first shown, but for that of the first one.

import * as home from './home.js';

const sum = (f) => ({servers}) => (servers ?? []).reduce((total, server) => total + f(server), 0);
const length = (part) => (now) => now[part].length;
const form = () => import('./edit.js');

export const routes = [
  {path: '/servers', title: 'Servers', nav: 'Servers', icon: 'servers', load: () => home},
  {path: '/add', title: 'Add a server', under: 'Servers', load: form},
  {path: '/servers/:id', title: 'Server', under: 'Servers', load: () => import('./server.js')},
  {path: '/servers/:id/edit', title: 'Settings', under: 'Servers', load: form},
  {path: '/tools', title: 'Tools', nav: 'Tools', icon: 'tools', load: () => import('./tools.js')},
  {path: '/tools/:name', title: 'Tool', under: 'Tools', load: () => import('./tool.js')},
  {path: '/connect', title: 'Connect a client', nav: 'Connect', icon: 'connect', load: () => import('./connect.js')},
  {path: '/changes', title: 'Changes', nav: 'Changes', icon: 'changes', group: 'Decide', waiting: sum((s) => s.decisions ?? 0), load: () => import('./changes.js')},
  {path: '/launches', title: 'Launches', nav: 'Launches', icon: 'launches', group: 'Decide', waiting: length('launches'), load: () => import('./launches.js')},
  {path: '/inbox', title: 'Waiting calls', nav: 'Waiting calls', icon: 'calls', group: 'Decide', waiting: length('calls'), load: () => import('./inbox.js')},
  {path: '/logins', title: 'Logins', nav: 'Logins', icon: 'logins', group: 'Access', waiting: sum((s) => (s.action === 'login' ? 1 : 0)), load: () => import('./logins.js')},
  {path: '/keys', title: 'API keys', nav: 'API keys', icon: 'keys', group: 'Access', load: () => import('./keys.js')},
  {path: '/activity', title: 'Activity', nav: 'Activity', icon: 'activity', group: 'Access', load: () => import('./activity.js')},
];
