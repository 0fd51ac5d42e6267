// Makes this thread resolve the project's own names (`#store`, `sealane`) to the TypeScript sources, as
// `node --conditions=sealane:source` would. Threads do not inherit it: give them that flag as `execArgv`, or this file
// by `--import`.
import { registerHooks } from 'node:module';

const isOurs = (specifier) => specifier.startsWith('#') || specifier === 'sealane' || specifier.startsWith('sealane/');

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    nextResolve(
      specifier,
      isOurs(specifier) ? { ...context, conditions: ['sealane:source', ...context.conditions] } : context,
    ),
});
