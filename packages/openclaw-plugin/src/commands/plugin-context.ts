import {
  type AdminKey,
  type ClientContext,
  createApiClient,
  createOutput,
  findAdminKey,
  type GlobalOptions,
} from 'sealane/cli';

import { KEY_NAME } from '../places.ts';
import type { GatewayPlace } from './gateway-place.ts';

/** What every command gets: the service of this machine's Gateway, with the operator's key, unless options say otherwise. */
export const createPluginContext =
  (place: GatewayPlace) =>
  (options: GlobalOptions): ClientContext => {
    const address = () =>
      options.url === undefined
        ? { url: place.url, isNamed: false }
        : { url: options.url.replace(/\/+$/, ''), isNamed: true };
    const adminKey = async (): Promise<AdminKey> => {
      const key = await findAdminKey(place.dataDir, KEY_NAME);
      return key === undefined ? { file: place.keyFile } : { key, file: place.keyFile };
    };
    return {
      output: createOutput({
        json: options.json ?? false,
        quiet: options.quiet ?? false,
        color: options.color ?? true,
      }),
      options,
      address,
      adminKey,
      client: async () => {
        const { url, isNamed } = address();
        // The key of this machine is for this machine's service, never for an address that an option names.
        return createApiClient(url, options.key ?? (isNamed ? undefined : (await adminKey()).key));
      },
    };
  };
