/**
 * Loaded before the SDK's command line tool, which looks for its SQLite driver beside itself: here it is the benchmark's
 * own package, so that nobody has to install it who only wants the service.
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (name, context, next) =>
    next(name, name === 'better-sqlite3' ? { ...context, parentURL: import.meta.url } : context),
});
