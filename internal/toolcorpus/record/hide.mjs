// Hides from a server what is peculiar to the machine of the recording: some
// servers write into their descriptions where they run.
import fs from 'node:fs';

const hidden = (file) => /^\/(?:\.dockerenv|proc|mnt|home|var\/run)(?:\/|$)/.test(String(file));
const { existsSync, readFileSync } = fs;
fs.existsSync = (file) => !hidden(file) && existsSync(file);
fs.readFileSync = (file, ...rest) => readFileSync(hidden(file) ? '/nowhere' : file, ...rest);
