// What came of the test of a server.

import {h, said, plural, code} from './dom.js';
import {milliseconds} from './spark.js';
import {trouble} from './servers.js';

const names = {
  resolved: 'Settings resolved', spawned: 'Program started', connected: 'Connected', initialized: 'Handshake done', listed: 'Tools listed',
};

// report shows the stages of a test, and where it ended.
export function report(result, local) {
  const r = result.report ?? {stages: [], tools: [], hints: []};
  const took = new Map((r.stages ?? []).map((s) => [s.stage, s.tookSeconds * 1000]));
  const stages = Object.keys(names).filter((stage) => local || stage !== 'spawned');
  const failed = result.success ? '' : stages.find((stage) => !took.has(stage));
  const step = (stage) => {
    let [sign, text] = stage === failed ? ['✗', 'failed here'] : ['·', 'not reached'];
    if (took.has(stage)) [sign, text] = ['✓', milliseconds(took.get(stage))];
    return h('li', {class: took.has(stage) ? 'done' : stage === failed ? 'failed' : ''},
      h('span', {'aria-hidden': 'true'}, sign), ` ${names[stage]} `, h('span', {class: 'weak'}, text));
  };
  return h('div', {class: 'view', role: 'group', 'aria-label': 'Result of the test'},
    h('p', {role: 'status'}, h('strong', {}, result.success
      ? `It works: ${plural(result.toolCount, 'tool')} in ${milliseconds(result.latencyMs)}.`
      : 'It does not work yet.')),
    h('ol', {class: 'steps plain'}, stages.map(step)),
    trouble(result.success ? '' : r.error || result.message, (r.hints ?? []).map((hint) => hint.text)),
    r.program && h('p', {class: 'weak'}, 'It says that it is ', said(`${r.program} ${r.version ?? ''}`, {clamp: 100}), '.'),
    result.discoveredTools?.length > 0 && h('details', {}, h('summary', {}, plural(result.discoveredTools.length, 'tool')),
      h('ul', {}, result.discoveredTools.slice(0, 500).map((name) => h('li', {}, said(name, {clamp: 100}))))),
    r.stderr && h('details', {}, h('summary', {}, 'What it wrote to standard error'), code(r.stderr)),
    r.strayOutput?.length > 0 && h('details', {}, h('summary', {}, 'What it wrote to standard output'), code(r.strayOutput.join('\n'))));
}
