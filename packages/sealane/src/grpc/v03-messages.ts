import type { Shape } from './message-shape.ts';

/** The messages of `a2a.v1` that calls of A2A 0.3 take and give. */
const TEXTS = { list: 'text' } as const;

const FILE: Shape = {
  fields: { mimeType: 'text' },
  choice: { name: 'file', cases: { fileWithUri: 'text', fileWithBytes: 'bytes' } },
};

const PART: Shape = {
  fields: {},
  choice: {
    name: 'part',
    cases: { text: 'text', file: { message: FILE }, data: { message: { fields: { data: 'same' } } } },
  },
};

const ROLE = { names: ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] };

const STATE = {
  names: [
    'TASK_STATE_UNSPECIFIED',
    'TASK_STATE_SUBMITTED',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
    'TASK_STATE_FAILED',
    'TASK_STATE_CANCELLED',
    'TASK_STATE_INPUT_REQUIRED',
    'TASK_STATE_REJECTED',
    'TASK_STATE_AUTH_REQUIRED',
  ],
};

const MESSAGE: Shape = {
  fields: {
    messageId: 'text',
    contextId: 'text',
    taskId: 'text',
    role: ROLE,
    content: { list: { message: PART } },
    metadata: 'same',
    extensions: TEXTS,
  },
};

const ARTIFACT: Shape = {
  fields: {
    artifactId: 'text',
    name: 'text',
    description: 'text',
    parts: { list: { message: PART } },
    metadata: 'same',
    extensions: TEXTS,
  },
};

const STATUS: Shape = {
  fields: { state: STATE, update: { message: MESSAGE }, timestamp: 'same' },
  jsonNames: { update: 'message' },
};

export const TASK: Shape = {
  fields: {
    id: 'text',
    contextId: 'text',
    status: { message: STATUS },
    artifacts: { list: { message: ARTIFACT } },
    history: { list: { message: MESSAGE } },
    metadata: 'same',
  },
};

const STATUS_UPDATE: Shape = {
  fields: { taskId: 'text', contextId: 'text', status: { message: STATUS }, final: 'flag', metadata: 'same' },
};

const ARTIFACT_UPDATE: Shape = {
  fields: {
    taskId: 'text',
    contextId: 'text',
    artifact: { message: ARTIFACT },
    append: 'flag',
    lastChunk: 'flag',
    metadata: 'same',
  },
};

/** SendMessageResponse and StreamResponse: the second has more to choose from. */
export const RESPONSE: Shape = {
  fields: {},
  choice: {
    name: 'payload',
    cases: {
      task: { message: TASK },
      msg: { message: MESSAGE },
      statusUpdate: { message: STATUS_UPDATE },
      artifactUpdate: { message: ARTIFACT_UPDATE },
    },
  },
  jsonNames: { msg: 'message' },
};

const WEBHOOK: Shape = {
  fields: {
    id: 'text',
    url: 'text',
    token: 'text',
    authentication: { message: { fields: { schemes: TEXTS, credentials: 'text' } } },
  },
};

export const PUSH_CONFIG: Shape = { fields: { name: 'text', pushNotificationConfig: { message: WEBHOOK } } };

export const PUSH_CONFIGS: Shape = { fields: { configs: { list: { message: PUSH_CONFIG } }, nextPageToken: 'text' } };

export const PUSH_SETTING: Shape = {
  fields: { parent: 'text', configId: 'text', config: { message: PUSH_CONFIG } },
};

export const SEND_REQUEST: Shape = {
  fields: {
    request: { message: MESSAGE },
    configuration: {
      message: {
        fields: {
          acceptedOutputModes: TEXTS,
          pushNotification: { message: WEBHOOK },
          historyLength: 'number',
          blocking: 'flag',
        },
      },
    },
    metadata: 'same',
  },
};

/** GetTask, CancelTask, TaskSubscription, and the webhooks by name. */
export const NAMED: Shape = { fields: { name: 'text', parent: 'text', historyLength: 'number' } };

export const NOTHING: Shape = { fields: {} };

const SECURITY: Shape = { fields: { schemes: { map: { message: { fields: { list: TEXTS } } } } } };

/** Ours is the one scheme that a card of this service can have. */
const SECURITY_SCHEME: Shape = {
  fields: {},
  choice: {
    name: 'scheme',
    cases: {
      httpAuthSecurityScheme: {
        message: { fields: { description: 'text', scheme: 'text', bearerFormat: 'text' } },
      },
    },
  },
};

const EXTENSION: Shape = { fields: { uri: 'text', description: 'text', required: 'flag', params: 'same' } };

const SKILL: Shape = {
  fields: {
    id: 'text',
    name: 'text',
    description: 'text',
    tags: TEXTS,
    examples: TEXTS,
    inputModes: TEXTS,
    outputModes: TEXTS,
    security: { list: { message: SECURITY } },
  },
};

export const CARD: Shape = {
  fields: {
    protocolVersion: 'text',
    name: 'text',
    description: 'text',
    url: 'text',
    preferredTransport: 'text',
    additionalInterfaces: { list: { message: { fields: { url: 'text', transport: 'text' } } } },
    provider: { message: { fields: { url: 'text', organization: 'text' } } },
    version: 'text',
    documentationUrl: 'text',
    capabilities: {
      message: {
        fields: { streaming: 'flag', pushNotifications: 'flag', extensions: { list: { message: EXTENSION } } },
      },
    },
    securitySchemes: { map: { message: SECURITY_SCHEME } },
    security: { list: { message: SECURITY } },
    defaultInputModes: TEXTS,
    defaultOutputModes: TEXTS,
    skills: { list: { message: SKILL } },
    supportsAuthenticatedExtendedCard: 'flag',
    signatures: { list: { message: { fields: { protected: 'text', signature: 'text', header: 'same' } } } },
  },
};
