/** Why the Gateway did not do something. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  /**
   * `unreachable`: there is no connection, or it broke; trying again makes sense. `refused`: it does not let us in.
   * Otherwise the Gateway's own word, such as `INVALID_REQUEST` or `UNAVAILABLE`.
   */
  readonly code: string;
  /** The Gateway's finer word, such as `AUTH_TOKEN_MISMATCH`. */
  readonly detail: string | undefined;

  constructor(code: string, message: string, detail?: string) {
    super(message);
    this.code = code;
    this.detail = detail;
  }
}

export const isUnreachable = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.code === 'unreachable';
