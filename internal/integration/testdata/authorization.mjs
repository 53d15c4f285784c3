// An authorization server: npm's oidc-provider as it comes, with dynamic
// registration, tokens for one resource, and its own login pages.
//
//	node authorization.mjs PROVIDER RESOURCE
//
// PROVIDER is the file of oidc-provider, RESOURCE the identifier of the resource.
// It prints its issuer when it listens, tells at /events what has happened, and
// ends with its standard input.
import http from 'node:http';
import { pathToFileURL } from 'node:url';

const [file, resource] = process.argv.slice(2);
const { default: Provider, errors } = await import(pathToFileURL(file));

const server = http.createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(_ctx, indicator) {
        if (indicator !== resource) {
          throw new errors.InvalidTarget();
        }
        return {
          scope: 'notes:read notes:write',
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        };
      },
      // Only who names the resource gets a token for it.
      useGrantedResource: () => false,
    },
  },
  rotateRefreshToken: true,
  pkce: { required: () => true },
});

const events = {};
for (const name of [
  'authorization.success', 'authorization.error', 'registration_create.success', 'registration_create.error',
  'grant.success', 'grant.error', 'grant.revoked', 'authorization_code.consumed', 'refresh_token.saved',
  'refresh_token.consumed', 'refresh_token.destroyed', 'revocation.error', 'server_error',
]) {
  provider.on(name, (...args) => {
    events[name] = (events[name] ?? 0) + 1;
    const err = args.find((arg) => arg instanceof Error);
    if (err) {
      console.error(name, err.error, err.error_description, err.stack);
    }
  });
}

const answer = provider.callback();
server.on('request', (req, res) => {
  if (req.url === '/events') {
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify(events));
    return;
  }
  answer(req, res);
});
process.stdin.on('end', () => process.exit()).resume();
console.log(issuer);
