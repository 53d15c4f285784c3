// The site of docs, which .ci/site/build makes.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = 'https://github.com/mcpbelt/mcpbelt'
const docs = fileURLToPath(new URL('..', import.meta.url)) // a copy of docs
const root = process.env.SITE_ROOT // of the repository

// item is the line of a page in the list at the side.
const item = (page) => ({ text: /^# (.*)$/m.exec(readFileSync(docs + page, 'utf8'))[1], link: '/' + page.replace(/(index)?\.md$/, '') })

// listed are the pages that a page links to, in its order.
const listed = (page, folder) => [...new Set([...readFileSync(docs + page, 'utf8').matchAll(/\]\(([\w/-]+\.md)[)#]/g)].map((m) => posix.join(folder, m[1])))]
	.filter((name) => !name.endsWith('index.md') && !name.startsWith('..') && existsSync(docs + name))

const tasks = listed('index.md', '')
const adapters = listed('adapters.md', '').filter((name) => name.startsWith('adapters/'))
const design = ['design/index.md', ...listed('design/index.md', 'design').filter((name) => name.startsWith('design/'))]

// outside turns links that lead out of docs into links to the repository, and README.md into index.md.
function outside(md) {
	md.core.ruler.push('outside', ({ tokens, env }) => {
		for (const token of tokens.flatMap((t) => t.children ?? [])) {
			if (token.type === 'code_inline') token.attrSet('v-pre', '') // braces in code are no template
			const href = token.type === 'link_open' && token.attrGet('href')
			if (!href || /^(\w+:|#|\/)/.test(href)) continue
			const [path, anchor] = href.split('#')
			const target = posix.normalize(posix.join('docs', posix.dirname(env.relativePath), path))
			if (target.startsWith('docs/') && path.endsWith('.md')) {
				token.attrSet('href', href.replace('README.md', 'index.md'))
				continue
			}
			const kind = statSync(`${root}/${target}`).isDirectory() ? 'tree' : 'blob'
			token.attrSet('href', `${repository}/${kind}/main/${target}${anchor ? '#' + anchor : ''}`)
		}
	})
}

export default {
	title: 'mcpbelt',
	description: 'Every tool of your MCP servers, behind one call',
	base: process.env.BASE ?? '/',
	cleanUrls: true,
	markdown: { config: outside },
	themeConfig: {
		search: { provider: 'local' },
		outline: [2, 3],
		nav: [{ text: 'Begin', link: '/getting-started' }, { text: 'Command', link: '/cli' }, { text: 'GitHub', link: repository }],
		sidebar: [
			{ text: 'Tasks', items: [item('index.md'), ...tasks.map(item)] },
			{ text: 'Adapters', collapsed: true, items: adapters.map(item) },
			{ text: 'Design', collapsed: true, items: design.map(item) },
		],
	},
}
