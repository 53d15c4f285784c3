// The server of the SDK for skills: it serves the skills of a folder.
//
//   node skills.mjs NODE_MODULES FOLDER
import { pathToFileURL } from "node:url";

const [modules, folder] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${modules}/${file}`).href);
const { McpServer } = await load("@modelcontextprotocol/server/dist/index.mjs");
const { serveStdio } = await load("@modelcontextprotocol/server/dist/stdio.mjs");
const { discoverSkills, registerSkillResources } = await load("@olaservo/ext-skills/dist/server/index.js");

const skills = discoverSkills(folder);
serveStdio(() => {
  const server = new McpServer({ name: "skills", version: "1" }, { capabilities: { resources: {} } });
  registerSkillResources(server, skills, folder, { template: true, directoryRead: true });
  return server;
});
