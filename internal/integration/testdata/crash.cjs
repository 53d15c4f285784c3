// Preloaded into the memory server, which writes by renaming a new file over
// the old one: every write is noted in CRASH_LOG, and the process dies as of
// kill -9 after the first one, before it can answer.
const fs = require('fs');

const { rename } = fs.promises;
fs.promises.rename = async (from, to) => {
  await rename(from, to);
  const first = !fs.existsSync(process.env.CRASH_LOG);
  fs.appendFileSync(process.env.CRASH_LOG, `${process.pid} ${to}\n`);
  if (first) process.kill(process.pid, 'SIGKILL');
};
