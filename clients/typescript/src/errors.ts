/** The errors of this package. Their messages never contain the API key. */

export class LicdError extends Error {
  override name = "LicdError";
}

/** The address, the API key, the mode or the product is wrong. `Licd.open` throws it. */
export class ConfigurationError extends LicdError {
  override name = "ConfigurationError";
}

/** licd rejected a request that no API key could send, such as one with an empty user. Branch on `code`. */
export class RequestError extends LicdError {
  override name = "RequestError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
  ) {
    super(`${status} ${code}: ${message}`);
  }
}

/** licd gave no usable response in time, which says nothing about the user. */
export class UnavailableError extends LicdError {
  override name = "UnavailableError";
}
